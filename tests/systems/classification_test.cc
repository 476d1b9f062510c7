#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "ir/error.h"
#include "ops/table.h"
#include "systems/scheduler.h"
#include "systems/worker.h"
#include "tests/systems/cases.h"

// Each way in which a system may end is told apart, on the real LibTorch worker with faults planted
// in it, and the worker is as good as new afterwards.
namespace ulpfuzz {
namespace {

using Status = Run::Status;  // in a test, Run is GoogleTest's
using Runs = std::vector<Run>;

SchedulerOptions tight() {
  SchedulerOptions options{.jobs = 1};
  options.limits.cpu_seconds = 1;
  options.limits.memory_bytes = std::int64_t{1} << 30;
  return options;
}

Scheduler& scheduler() {
  static Scheduler instance(op_table(), tight());
  return instance;
}

Run with_fault(const std::string& fault) {
  const RunRequest wishes[] = {request(plus_one(1), "eager@cpp[fault=" + fault + "]"),
                               request(plus_one(2))};
  const Runs runs = scheduler().run(wishes);
  EXPECT_TRUE(runs[1].completed()) << runs[1].exception_message;
  return runs[0];
}

TEST(Classification, Crash) {
  const auto run = with_fault("crash");
  EXPECT_EQ(run.status, Status::kCrashed);
  EXPECT_EQ(run.signal, SIGABRT);
  EXPECT_EQ(run.stage, Stage::kForward);
}

TEST(Classification, Hang) {
  const auto run = with_fault("hang");
  EXPECT_EQ(run.status, Status::kHung);
  EXPECT_EQ(run.stage, Stage::kForward);
}

TEST(Classification, OutOfMemory) { EXPECT_EQ(with_fault("memory").status, Status::kOutOfMemory); }

TEST(Classification, Exception) {
  const auto run = with_fault("raise");
  EXPECT_EQ(run.status, Status::kRaised);
  EXPECT_EQ(run.stage, Stage::kForward);
}

// Standard output belongs to the system: whatever stands there is text, and valid UTF-8.
TEST(Classification, NoiseOnStandardOutputIsHarmless) {
  const auto run = with_fault("garbage");
  ASSERT_TRUE(run.completed()) << run.exception_message;
  EXPECT_EQ(run.executions[0].tensors[0].reals()[0], 2);
  EXPECT_NE(run.worker_text.find("\"type\":\"result\""), std::string::npos);
}

TEST(Classification, WhatIsNotAFrameIsACrashOfThatRun) {
  const auto run = with_fault("bad-frame");
  EXPECT_EQ(run.status, Status::kCrashed);
  EXPECT_NE(run.exception_message.find("not a frame"), std::string::npos) << run.exception_message;
}

TEST(Classification, FaultsOfResults) {
  const auto nan = with_fault("one-nan");
  ASSERT_TRUE(nan.completed());
  EXPECT_TRUE(std::isnan(nan.executions[0].tensors[0].reals()[0]));

  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6});
  b.output(b.node("y", "neg.default", {{"self", x}}));
  const RunRequest wishes[] = {request(b.take(), "eager@cpp[fault=wrong-out-stride]")};
  const TensorResult y = scheduler().run(wishes)[0].executions.at(0).tensors.at(0);
  EXPECT_EQ(y.layout.strides, (Shape{1, 2}));
  EXPECT_EQ(y.reals(), (std::vector<double>{-1, -2, -3, -4, -5, -6}));
}

TEST(Classification, AnUnknownFaultIsTheUsersError) {
  const RunRequest wishes[] = {request(plus_one(1), "eager@cpp[fault=no-such]")};
  EXPECT_THROW(scheduler().run(wishes), Error);
}

// A program in place of a worker: a shell script that does one thing on descriptor 3.
class Script {
 public:
  explicit Script(const std::string& body)
      : path_(testing::TempDir() + "worker_" + std::to_string(::getpid()) + ".sh") {
    std::ofstream(path_) << "#!/bin/sh\n" << body << "\n";
    ::chmod(path_.c_str(), 0755);
  }
  ~Script() { ::unlink(path_.c_str()); }
  WorkerCommand command() const { return {{path_}, {}}; }

 private:
  std::string path_;
};

// A frame as an argument of printf(1): its length in octal escapes, then the text.
std::string frame(const std::string& json) {
  char length[32];
  std::snprintf(length, sizeof(length), "\\%03o\\%03o\\000\\000",
                static_cast<unsigned>(json.size() & 0xFF), static_cast<unsigned>(json.size() >> 8));
  return std::string("printf '") + length + json + "' >&3\n";
}
const std::string kHello =
    R"({"type":"hello","protocol":1,"worker":"x","systems":["s"],"versions":{"torch":"0"}})";

TEST(Worker, ThatCannotBeExecutedIsNotAvailable) {
  EXPECT_THROW(Worker({{"/no/such/program"}, {}}), NotAvailable);
}

TEST(Worker, ThatDiesAtTheStartIsNotAvailableAndItsLastWordsAreTold) {
  const Script script("echo trace; echo no torch here >&2; exit 1");
  try {
    Worker worker(script.command());
    FAIL();
  } catch (const NotAvailable& error) {
    EXPECT_NE(std::string(error.what()).find("no torch here"), std::string::npos) << error.what();
  }
}

TEST(Worker, OfAnotherProtocolIsRefused) {
  const Script script(frame(R"({"type":"hello","protocol":2})") + "sleep 60");
  EXPECT_THROW(Worker(script.command()), NotAvailable);
}

WorkerAnswer answer_of(const std::string& behaviour, double wall_seconds = 60) {
  const Script script(frame(kHello) + behaviour);
  Worker worker(script.command());
  EXPECT_EQ(worker.hello().systems, std::vector<std::string>{"s"});
  Limits limits;
  limits.wall_seconds = wall_seconds;
  return worker.run("{}", 7, limits);
}

TEST(Worker, ThatDiesInARunIsACrashWithItsSignal) {
  const WorkerAnswer answer = answer_of("head -c 4 <&3 >/dev/null; kill -SEGV $$");
  EXPECT_EQ(answer.end, WorkerAnswer::End::kCrashed);
  EXPECT_EQ(answer.signal, SIGSEGV);
}

TEST(Worker, ThatBreaksTheProtocolIsACrash) {
  for (const std::string json :
       {"[]", "no json", "{\"type\":\"stage\",\"id\":8,\"stage\":\"forward\"}", "{\"id\":7}",
        "{\"id\":7,\"type\":\"unheard\"}", "{\"id\":7,\"type\":\"stage\",\"stage\":\"lunch\"}"}) {
    EXPECT_EQ(answer_of(frame(json) + "sleep 60").end, WorkerAnswer::End::kCrashed) << json;
  }
}

TEST(Worker, ThatDoesNotAnswerIsAHang) {
  const std::string started = frame(R"({"type":"started","id":7,"pid":1})");
  // It claims a process that is not its child: nothing but the worker is killed.
  EXPECT_EQ(answer_of(started + "sleep 60", 0.05).end, WorkerAnswer::End::kHung);
}

TEST(Worker, ThatRefusesSaysWhy) {
  const WorkerAnswer answer =
      answer_of(frame(R"({"type":"refused","id":7,"why":"no such device"})") + "sleep 60");
  EXPECT_EQ(answer.end, WorkerAnswer::End::kRefused);
  EXPECT_EQ(answer.message, "no such device");
}

}  // namespace
}  // namespace ulpfuzz
