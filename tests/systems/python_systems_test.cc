#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/table.h"
#include "systems/scheduler.h"
#include "tests/systems/cases.h"

// The compilers of the Python worker, on real torch: each proves that it compiled, gives what eager
// gives, and is not believed where it left the work to another.
namespace ulpfuzz {
namespace {

using Status = Run::Status;  // in a test, Run is GoogleTest's
using Runs = std::vector<Run>;

Scheduler& scheduler() {
  static Scheduler instance(op_table(), {.jobs = 1});
  return instance;
}

Run run_of(const Case& c, const std::string& system) {
  const RunRequest wishes[] = {request(c, system)};
  return scheduler().run(wishes)[0];
}

// The system with one more option.
std::string with(std::string system, const std::string& option) {
  if (system.back() != ']') return system + "[" + option + "]";
  system.back() = ',';
  return system + option + "]";
}

// softmax(x @ w + b), with gradients.
Case matrices() {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 3}, {1, -2, 3, 0.5, 0.25, -1});
  const Ref w = b.input("w", DType::kFloat32, {3, 2}, {0.1, 0.2, -0.3, 0.4, 0.5, -0.6});
  const Ref bias = b.input("b", DType::kFloat32, {2}, {0.7, -0.8});
  const Ref product = b.node("p", "mm.default", {{"self", x}, {"mat2", w}});
  const Ref sum = b.node("s", "add.Tensor", {{"self", product}, {"other", bias}});
  const Ref soft = b.node("y", "softmax.int", {{"self", sum}, {"dim", Dim(1)}});
  return b.output(soft, {1, 2, -1, 0.5}).wrt({"x", "w", "b"}).take();
}

// addmm that ignores its first operand, of which ThunderFX makes a part for Inductor; then exp.
Case partly_foreign(bool with_exp) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  Ref last = b.node("p", "addmm.default",
                    {{"self", x}, {"mat1", x}, {"mat2", x}, {"beta", Scalar{std::int64_t{0}}}});
  if (with_exp) last = b.node("y", "exp.default", {{"self", last}});
  return b.output(last).take();
}

// y += x, y.
Case writes() {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2}, {1, 2});
  const Ref y = b.input("y", DType::kFloat32, {2}, {10, 20});
  return b.output(b.node("z", "add_.Tensor", {{"self", y}, {"other", x}})).take();
}

class Compilers : public testing::TestWithParam<const char*> {};

TEST_P(Compilers, AgreeWithEagerForwardAndBackwardAndProveACompile) {
  const auto eager = run_of(matrices(), "eager@py");
  const auto compiled = run_of(matrices(), GetParam());
  ASSERT_TRUE(eager.completed()) << eager.exception_message;
  ASSERT_TRUE(compiled.completed()) << compiled.exception_message << compiled.worker_text;
  EXPECT_GE(compiled.counters.at("graphs"), 1);
  EXPECT_GT(compiled.cpu_seconds.at("compile"), 0);
  const auto& expected = eager.executions[0].tensors;
  const auto& found = compiled.executions[0].tensors;
  ASSERT_EQ(found.size(), 4u);  // one output, three gradients
  for (std::size_t t = 0; t < found.size(); ++t) {
    const std::vector<double> e = expected[t].reals(), f = found[t].reals();
    ASSERT_EQ(f.size(), e.size()) << found[t].name;
    for (std::size_t i = 0; i < e.size(); ++i) {
      EXPECT_NEAR(f[i], e[i], 1e-6) << found[t].name << " " << i;  // 8 ulps of 1
    }
  }
}

// Rehearsals and traces run a program more than once; what it writes is seen as of one run.
TEST_P(Compilers, ShowInputsAsOneRunLeavesThem) {
  const auto run = run_of(writes(), GetParam());
  ASSERT_TRUE(run.completed()) << run.exception_message;
  const TensorResult* y = run.executions[0].find("y after");
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->reals(), (std::vector<double>{11, 22}));
  EXPECT_EQ(run.executions[0].find("output 0")->alias_of, "y");
}

TEST_P(Compilers, TakeSeveralProgramsAtOnce) {
  std::vector<RunRequest> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(request(plus_one(i), GetParam()));
  const Runs runs = scheduler().run(requests);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(runs[i].completed()) << runs[i].exception_message;
    EXPECT_EQ(runs[i].packed_with, 3);
    EXPECT_EQ(runs[i].executions[0].tensors[0].reals()[0], i + 1);
  }
}

TEST_P(Compilers, ShowAPlantedNaN) {
  const auto run = run_of(plus_one(1), with(GetParam(), "fault=one-nan"));
  ASSERT_TRUE(run.completed()) << run.exception_message;
  EXPECT_TRUE(std::isnan(run.executions[0].tensors[0].reals()[0]));
}

TEST_P(Compilers, RefuseAnOptionThatTheyDoNotHave) {
  const auto run = run_of(plus_one(1), with(GetParam(), "flavour=sweet"));
  EXPECT_EQ(run.status, Status::kRaised);
  EXPECT_NE(run.exception_message.find("no option flavour"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Systems, Compilers,
                         testing::Values("dynamo", "aot_eager", "aot_eager[decompositions=true]",
                                         "thunder", "thunder[entry=jit]", "torchscript"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

// Three rehearsals are enough for the graph of the gradient, which comes with the optimised one.
TEST(TorchScript, OptimisesTheGradientToo) {
  EXPECT_EQ(run_of(matrices(), "torchscript").counters.at("gradient_graphs"), 1);
}

// An executor of TorchScript's is made for each state of autocast; the proof is that of the right
// one.
TEST(TorchScript, ProvesItsCompileUnderAutocast) {
  Case c = matrices();
  c.environment.autocast = "bfloat16";
  const auto run = run_of(c, "torchscript");
  EXPECT_TRUE(run.completed()) << name(run.status);
}

// What Thunder raises is its answer, unless Inductor answers in its place.
TEST(Thunder, HasNoGradientOfRemainder) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2}, {5, 7});
  b.output(b.node("y", "remainder.Scalar", {{"self", x}, {"other", Scalar{3.0}}}), {1, 1});
  const Case c = b.wrt({"x"}).take();
  const auto run = run_of(c, "thunder[entry=jit]");
  EXPECT_EQ(run.status, Status::kRaised);
  EXPECT_EQ(run.stage, Stage::kCompile);
  EXPECT_NE(run.exception_message.find("gradient"), std::string::npos) << run.exception_message;
  EXPECT_EQ(run_of(c, "thunder").status, Status::kNotCompiled);
}

// A part that Inductor ran is counted, and without another part there is no proof of Thunder.
TEST(Thunder, CountsWhatItLeavesToInductor) {
  const auto mixed = run_of(partly_foreign(true), "thunder");
  ASSERT_TRUE(mixed.completed()) << mixed.exception_message;
  EXPECT_EQ(mixed.counters.at("graphs"), 1);
  EXPECT_EQ(mixed.counters.at("fallbacks"), 1);
  EXPECT_EQ(mixed.counters.at("split_reasons"), 1);
  EXPECT_EQ(run_of(partly_foreign(false), "thunder").status, Status::kNotCompiled);
}

TEST(Thunder, TakesAListOfExecutors) {
  EXPECT_TRUE(run_of(matrices(), "thunder[entry=jit,executors=sdpa+torch]").completed());
  const auto wrong = run_of(matrices(), "thunder[executors=sdpa+nosuch]");
  EXPECT_EQ(wrong.status, Status::kRaised);
  EXPECT_EQ(wrong.stage, Stage::kBuild);
}

// Attention of two heads on four positions, with gradients; heads lie b s h d in memory.
Case attention() {
  CaseBuilder b;
  std::vector<double> values;
  for (int i = 0; i < 16; ++i) values.push_back(0.125 * (i % 5) - 0.25);
  const Shape shape{1, 2, 4, 2};
  const Ref q = b.input("q", DType::kFloat32, shape, values);
  const Ref k = b.input("k", DType::kFloat32, shape, values);
  const Ref v = b.input("v", DType::kFloat32, shape, values);
  const Ref y =
      b.node("y", "scaled_dot_product_attention.default", {{"query", q}, {"key", k}, {"value", v}});
  return b.output(y, values).wrt({"q", "k", "v"}).take();
}

// Proves: where a fake kernel claims another layout than the real one gives, Inductor's assertion
// fails in the backward pass, and its message says so; without the planted claim it does not.
TEST(Inductor, AFalseFakeKernelOfAttentionFailsTheStrideAssertion) {
  const auto clean = run_of(attention(), "inductor");
  EXPECT_TRUE(clean.completed()) << clean.exception_message;
  const auto claimed = run_of(attention(), "inductor[fault=sdpa-fake-stride]");
  EXPECT_EQ(claimed.status, Status::kRaised);
  EXPECT_EQ(claimed.stage, Stage::kBackward);
  EXPECT_NE(claimed.exception_message.find("expected size 2==2, stride 2==8 at dim=1"),
            std::string::npos)
      << claimed.exception_message;
}

}  // namespace
}  // namespace ulpfuzz
