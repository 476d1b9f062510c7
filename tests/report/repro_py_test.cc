#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ops/table.h"
#include "report/python_text.h"
#include "tests/report/findings.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// A small finding fits one screen, and every line of it is one that a person would write.
TEST(ReproPy, PrintsANanMismatchAsAPersonWould) {
  const std::string text = repro_py(asinh_finding(kInfinity), op_table());
  EXPECT_EQ(text, R"("""inductor: nan-mismatch. output 0[0] is not right
Exits 1 while this fails, 0 when it is fixed, 2 when it cannot tell. Seen with torch 2.11.0."""
import sys
import traceback

import torch

torch.set_num_threads(1)

def program(x):
    y = torch.asinh(x)
    return (y,)

def run(f):
    x = torch.full((16,), 2.4e+20)
    outputs = f(x)
    return outputs[0]

def main():
    eager = run(program)[0].item()
    compiled = run(torch.compile(program))[0].item()
    exact, allowed = 47.62031778, 2e-05  # twice the largest error that rounding explains
    print(f'torch {torch.__version__}: element [0] of output 0')
    print(f'exact    {exact!r}')
    print(f'eager    {eager!r}')
    print(f'compiled {compiled!r}; error {abs(compiled - exact):.3g}, allowed {allowed:.3g}')
    return 0 if abs(compiled - exact) <= allowed else 1

if __name__ == '__main__':
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(2)
)");
  EXPECT_LE(lines(text), 40);
}

// A large input is drawn by the rule of ir/fill.h, printed along; the exception is told by its
// class and by what a stride assertion says.
TEST(ReproPy, DrawsLargeInputsAndNamesTheException) {
  const std::string text = repro_py(stride_assert_finding(), op_table());
  EXPECT_THAT(text, HasSubstr("def bits(n, seed):"));
  EXPECT_THAT(text, HasSubstr("x = normal(bits(72, 7), 1.0, 0.0).float().reshape(3, 4, 6)"));
  EXPECT_THAT(text, HasSubstr("return 1 if type(error).__name__ == 'AssertionError' and "
                              "'expected size' in str(error) else 2"));
  EXPECT_THAT(text, Not(HasSubstr("ulpfuzz")));  // torch alone
}

// An error within the bound is still shown when it is what the judge went by: half of it is
// allowed.
TEST(ReproPy, AllowsHalfOfAnErrorThatTheBoundPermits) {
  Finding f = asinh_finding(47.6204F);
  f.exact.tensors[0].bound.assign(16, 1);
  f.signature.kind = f.verdict.facts[0].kind = VerdictKind::kLessAccurate;
  EXPECT_THAT(repro_py(f, op_table()), HasSubstr("# half of the error that was seen"));
}

TEST(ReproPy, KeepsLayoutsAndEnvironments) {
  Finding f = asinh_finding(kInfinity);
  f.minimal.inputs[0].strides = {3};
  f.minimal.inputs[0].offset = 2;
  f.minimal.environment.dynamic = true;
  f.minimal.environment.grad = false;
  f.minimal.environment.threads = 2;
  const std::string text = repro_py(f, op_table());
  EXPECT_THAT(text, HasSubstr("torch.zeros(48).as_strided((16,), (3,), 2).copy_(torch.full("));
  EXPECT_THAT(text, HasSubstr("torch.compile(program, dynamic=True)"));
  EXPECT_THAT(text, HasSubstr("    with torch.no_grad():\n        outputs = f(x)\n"));
  EXPECT_THAT(text, HasSubstr("torch.set_num_threads(2)"));
}

// The script runs the system that was judged, not another.
TEST(ReproPy, WritesEachSystemAsItsUserWould) {
  const auto script = [](const std::string& system) {
    Finding f = asinh_finding(kInfinity);
    f.signature.system = system;
    return repro_py(f, op_table());
  };
  EXPECT_THAT(script("inductor[fullgraph=1,max_autotune=1]"),
              HasSubstr("torch.compile(program, fullgraph=True, options={'max_autotune': True})"));
  EXPECT_THAT(script("dynamo"), HasSubstr("torch.compile(program, backend='eager')"));
  EXPECT_THAT(script("aot_eager"), HasSubstr("torch.compile(program, backend='aot_eager')"));
  EXPECT_THAT(script("aot_eager[decompositions=true,fault=one-nan]"),
              HasSubstr("torch.compile(program, backend='aot_eager_decomp_partition')"));
  const std::string fx = script("thunder[executors=sdpa+torch]");
  EXPECT_THAT(fx, HasSubstr("import torch\nimport thunder\n"));
  EXPECT_THAT(fx, HasSubstr("torch.compile(program, backend=thunder.dynamo.ThunderCompiler("
                            "executors=['sdpa', 'torch']))"));
  EXPECT_THAT(script("thunder[entry=jit]"), HasSubstr("run(thunder.jit(program))"));
  const std::string traced = script("torchscript");
  EXPECT_THAT(traced, HasSubstr("torch.jit.trace(program, inputs, check_trace=False)"));
  EXPECT_THAT(traced, HasSubstr("run(traced(program))"));
  const std::string package = script("aoti[max_autotune=1]");
  EXPECT_THAT(package, HasSubstr("aoti_compile_and_package(exported, "
                                 "inductor_configs={'max_autotune': True})"));
  EXPECT_THAT(package, HasSubstr("run(packaged())"));
}

TEST(ReproPy, GradientsComeFromExplicitCotangents) {
  Finding f = asinh_finding(kInfinity);
  f.minimal.wrt = {"x"};
  f.minimal.cotangents[0].emplace();
  f.minimal.cotangents[0]->strides = {0};
  f.minimal.cotangents[0]->fill.kind = Fill::Kind::kLiteral;
  f.minimal.cotangents[0]->fill.values = {2};
  for (auto* each : {&f.system_run, &f.eager_run}) {
    each->executions[0].tensors[0].name = "gradient of x";
  }
  f.exact.tensors[0].name = f.verdict.facts[0].tensor = "gradient of x";
  const std::string text = repro_py(f, op_table());
  EXPECT_THAT(text, HasSubstr("x = torch.full((16,), 2.4e+20).requires_grad_()"));
  EXPECT_THAT(text,
              HasSubstr("cotangent_0 = torch.full((16,), 2.0)[-1:].contiguous().expand(16,)\n"));
  EXPECT_THAT(text, HasSubstr("heads, tangents = outputs[0], cotangent_0"));
  EXPECT_THAT(text, HasSubstr("torch.autograd.grad(heads, [x], tangents, allow_unused=True)"));
  EXPECT_THAT(text, HasSubstr("return gradients[0]"));
}

// Shortest decimals that read back as the same number of the dtype.
TEST(PythonNumber, IsTheShortestThatRoundTrips) {
  EXPECT_EQ(python_number(0.1F, DType::kFloat32), "0.1");
  EXPECT_EQ(python_number(0.1F, DType::kFloat64), "0.10000000149011612");
  EXPECT_EQ(python_number(3.015625, DType::kBFloat16), "3.02");
  EXPECT_EQ(python_number(-0.0), "-0.0");
  EXPECT_EQ(python_number(1e22), "1e+22");
  EXPECT_EQ(python_number(std::numeric_limits<double>::quiet_NaN()), "float('nan')");
}

}  // namespace
}  // namespace ulpfuzz
