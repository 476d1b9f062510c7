#include <gtest/gtest.h>

#include <limits>

#include "ops/table.h"
#include "tests/e2e/binary.h"
#include "tests/report/findings.h"

// Scripts that reports print, run by the real interpreter with the real torch (2.11.0): the exit
// status says whether the fault is there.
namespace ulpfuzz {
namespace {

Output run_repro(const Finding& finding) {
  const Folder folder;
  write_text(folder / "repro.py", repro_py(finding, op_table()));
  return run_program({python(), (folder / "repro.py").string()});
}

TEST(ReproScript, FailsWhileTheStrideAssertionFails) {
  const Output output = run_repro(stride_assert_finding());
  EXPECT_EQ(output.status, 1) << output.out << output.err;
  EXPECT_NE(output.out.find("eager runs"), std::string::npos);
  EXPECT_NE(output.out.find("AssertionError: expected size"), std::string::npos) << output.out;
}

TEST(ReproScript, FailsWhileAValueIsNotFinite) {
  const Output output = run_repro(asinh_finding(std::numeric_limits<float>::infinity()));
  EXPECT_EQ(output.status, 1) << output.out << output.err;
  EXPECT_NE(output.out.find("compiled inf"), std::string::npos) << output.out;
}

TEST(ReproScript, PassesWhereThereIsNoFault) {
  Finding f = asinh_finding(std::numeric_limits<float>::infinity());
  f.minimal.inputs[0].fill.values = {0.25};
  f.exact.tensors[0].values.assign(16, 0.2474664615472634);
  EXPECT_EQ(run_repro(f).status, 0);
}

// What is compiled is what was judged: these make no C++ that would overflow.
TEST(ReproScript, RunsTheSystemThatWasJudged) {
  Finding f = asinh_finding(std::numeric_limits<float>::infinity());
  for (const char* system : {"aot_eager", "thunder[entry=jit]", "torchscript"}) {
    f.signature.system = system;
    const Output output = run_repro(f);
    EXPECT_EQ(output.status, 0) << system << output.out << output.err;
    EXPECT_NE(output.out.find("compiled 47.62"), std::string::npos) << system << output.out;
  }
}

TEST(ReproScript, CannotTellWhenEagerRaises) {
  Finding f = stride_assert_finding();
  f.minimal.program.nodes[0].args[1].value = Dim(7);  // there is no such dimension
  const Output output = run_repro(f);
  EXPECT_EQ(output.status, 2) << output.out << output.err;
}

// Known in 2.11.0: the choice of a kernel is not part of the compile cache's key.
TEST(ReproScript, SeesThatAnotherKernelRan) {
  Finding f = stride_assert_finding();
  f.signature = {VerdictKind::kKernelMismatch, "inductor", ""};
  for (const char* name : {"q", "k", "v"}) {
    f.minimal.program.inputs.push_back({name, DType::kFloat32, {1, 2, 8, 16}});
  }
  f.minimal.program.inputs.erase(f.minimal.program.inputs.begin());
  f.minimal.inputs.resize(3);
  f.minimal.program.nodes = {node("y", "aten.scaled_dot_product_attention.default",
                                  {{"query", Ref{"q"}}, {"key", Ref{"k"}}, {"value", Ref{"v"}}})};
  f.minimal.environment.sdpa = SdpaChoice{{SdpaKernel::kFlash}, false};
  f.minimal.environment.primed_by = SdpaChoice{{SdpaKernel::kMath}, false};
  const Output output = run_repro(f);
  EXPECT_EQ(output.status, 1) << output.out << output.err;
}

}  // namespace
}  // namespace ulpfuzz
