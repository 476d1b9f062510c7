#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "ops/table.h"
#include "systems/kinds.h"
#include "systems/scheduler.h"
#include "tests/systems/cases.h"

// AOTInductor on real torch: the Python host makes a package, the LibTorch worker runs it.
namespace ulpfuzz {
namespace {

using Status = Run::Status;  // in a test, Run is GoogleTest's

Run run_of(const Case& c, const std::string& system) {
  static Scheduler scheduler(op_table(), {.jobs = 1});
  const RunRequest wishes[] = {request(c, system)};
  return scheduler.run(wishes)[0];
}

// y += x; sin(y), and y itself.
Case writes_and_computes() {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 2}, {1, 2, -0.5, 0.25});
  const Ref y = b.input("y", DType::kFloat32, {2, 2}, {10, 20, 30, 40}, {1, 2});
  const Ref sum = b.node("z", "add_.Tensor", {{"self", y}, {"other", x}});
  b.output(b.node("s", "sin.default", {{"self", sum}}));
  return b.output(sum).take();
}

TEST(Aoti, RunsInCppWhatPythonCompiled) {
  const auto eager = run_of(writes_and_computes(), "eager@cpp");
  const auto run = run_of(writes_and_computes(), "aoti");
  ASSERT_TRUE(run.completed()) << run.exception_message << run.worker_text;
  EXPECT_EQ(run.counters.at("graphs"), 1);
  EXPECT_TRUE(run.versions.contains("cxx"));         // of the one that made it
  EXPECT_GT(run.cpu_seconds.at("compile"), 0);       // likewise
  EXPECT_TRUE(run.cpu_seconds.contains("forward"));  // of the one that ran it
  const auto& expected = eager.executions[0].tensors;
  const auto& found = run.executions[0].tensors;
  ASSERT_EQ(found.size(), 3u);  // two outputs and y after
  for (std::size_t t = 0; t < found.size(); ++t) {
    EXPECT_EQ(found[t].layout, expected[t].layout) << found[t].name;
    EXPECT_EQ(found[t].alias_of, expected[t].alias_of) << found[t].name;
    const std::vector<double> e = expected[t].reals(), f = found[t].reals();
    for (std::size_t i = 0; i < e.size(); ++i) EXPECT_NEAR(f[i], e[i], 1e-6) << found[t].name;
  }
}

TEST(Aoti, ShowsAPlantedNaN) {
  const auto run = run_of(plus_one(1), "aoti[fault=one-nan]");
  ASSERT_TRUE(run.completed()) << run.exception_message << run.worker_text;
  EXPECT_TRUE(std::isnan(run.executions[0].tensors[0].reals()[0]));
}

// The worker that runs it dies: the stage is that of the whole, the other worker's work is counted.
TEST(Aoti, ACrashKeepsItsStage) {
  const auto run = run_of(plus_one(2), "aoti[fault=crash]");
  EXPECT_EQ(run.status, Status::kCrashed);
  EXPECT_EQ(run.stage, Stage::kForward);
  EXPECT_EQ(run.signal, SIGABRT);
  EXPECT_GT(run.cpu_seconds.at("compile"), 0);
}

// What the one that makes the package raises is the answer, and the other is not asked.
TEST(Aoti, RefusesAnOptionInStageCompile) {
  const auto run = run_of(plus_one(1), "aoti[flavour=sweet]");
  EXPECT_EQ(run.status, Status::kRaised);
  EXPECT_EQ(run.stage, Stage::kCompile);
  EXPECT_NE(run.exception_message.find("no option flavour"), std::string::npos);
}

Case with_gradient() {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {1}, {1});
  return b.output(b.node("y", "exp.default", {{"self", x}}), {1}).wrt({"x"}).take();
}

// There is no backward pass: it can be asked for the forward part only.
TEST(Aoti, IsAskedForTheForwardPart) {
  const Case c = with_gradient();
  EXPECT_EQ(asked_of(parse_system("inductor"), c), c);
  const Case forward = asked_of(parse_system("aoti"), c);
  EXPECT_TRUE(forward.wrt.empty());
  EXPECT_EQ(forward.cotangents, std::vector<std::optional<Cotangent>>(1));
  const auto run = run_of(c, "aoti");
  EXPECT_EQ(run.exception_type, "InvalidCase");
  EXPECT_NE(run.exception_message.find("forward"), std::string::npos) << run.exception_message;
}

}  // namespace
}  // namespace ulpfuzz
