#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

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

// The same as a test for pytest, whose function is called here as pytest does.
TEST(ReproScript, IsATestThatFailsWhileTheFaultIsThere) {
  const Finding f = asinh_finding(std::numeric_limits<float>::infinity());
  const Folder folder;
  write_text(folder / "test_repro.py", repro_pytest(f, op_table()));
  const std::string call = "import sys; sys.path.insert(0, '" + folder.path().string() +
                           "'); import torch, test_repro; ";
  const std::string test = "test_repro.test_" + f.id + "()";
  const Output fails = run_program({python(), "-c", call + test});
  EXPECT_EQ(fails.status, 1);
  EXPECT_NE(fails.err.find("AssertionError"), std::string::npos) << fails.err;
  const Output mended =
      run_program({python(), "-c", call + "torch.compile = lambda f, **_: f; " + test});
  EXPECT_EQ(mended.status, 0) << mended.err;
}

// Compiles and runs a program against the torch that the systems use.
Output run_cpp(const std::string& source) {
  const Folder folder;
  write_text(folder / "repro.cc", source);
  const Output torch = run_program(
      {python(), "-c", "import os, torch; print(os.path.dirname(torch.__file__), end='')"});
  const std::string& t = torch.out;
  const std::string program = (folder / "repro").string();
  const Output built = run_program(
      {"/usr/bin/env", "g++", "-std=c++17", "-O0", (folder / "repro.cc").string(), "-o", program,
       "-I" + t + "/include", "-I" + t + "/include/torch/csrc/api/include", "-L" + t + "/lib",
       "-Wl,-rpath," + t + "/lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"});
  if (built.status != 0) return built;
  return run_program({program});
}

// The numbers in the line behind the one that begins with `name`.
std::vector<double> printed(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line) && !line.starts_with(name + ":")) {
  }
  std::getline(in, line);
  std::istringstream numbers(line);
  std::vector<double> values;
  for (double value = 0; numbers >> value;) values.push_back(value);
  return values;
}

// Attention with kv heads of its own and gradients by all three: layouts, cotangents, floats,
// bools.
TEST(ReproCpp, GivesTheResultsOfTheCase) {
  const Case c = read_case("corpus/gqa-attention-backward.json");
  const Output output = run_cpp(repro_cc(c, op_table()));
  ASSERT_EQ(output.status, 0) << output.out << output.err;
  const Exact exact = Oracle(op_table()).exact(bind_symbols(c));
  ASSERT_GT(exact.tensors.size(), 1u);
  for (const ExactTensor& tensor : exact.tensors) {
    const std::vector<double> values = printed(output.out, tensor.name);
    ASSERT_FALSE(values.empty()) << tensor.name << '\n' << output.out;
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], tensor.values[i], 1e-3 * (1 + std::abs(tensor.values[i])))
          << tensor.name << ' ' << i;
    }
  }
}

// The test above is the one whose numbers are right, and which exits 0.
TEST(ReproCpp, ExitsOneWhereEagerModeIsWrong) {
  Finding f = asinh_finding(std::numeric_limits<float>::infinity());
  for (double& value : f.exact.tensors[0].values) value = 1;
  EXPECT_EQ(run_cpp(repro_cc(f, op_table())).status, 1);
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
