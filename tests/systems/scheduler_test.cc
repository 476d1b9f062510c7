#include "systems/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "ir/error.h"
#include "ops/table.h"
#include "systems/pack.h"
#include "systems/run_cache.h"
#include "tests/systems/cases.h"

namespace ulpfuzz {
namespace {

using Status = Run::Status;  // in a test, Run is GoogleTest's
using Runs = std::vector<Run>;

std::vector<std::vector<std::size_t>> plan(const std::vector<RunRequest>& requests,
                                           std::size_t largest, bool alone = false) {
  std::vector<const RunRequest*> pointers;
  for (const RunRequest& r : requests) pointers.push_back(&r);
  return plan_packs(pointers, largest, alone);
}

using Packs = std::vector<std::vector<std::size_t>>;

TEST(Packs, HoldOneSystemAndOneEnvironment) {
  std::vector<RunRequest> requests;
  for (int i = 0; i < 6; ++i)
    requests.push_back(request(plus_one(i), i % 2 ? "inductor" : "eager@py"));
  requests[4].test.environment.threads = 2;
  EXPECT_EQ(plan(requests, 16), (Packs{{0, 2}, {1, 3, 5}, {4}}));
  EXPECT_EQ(plan(requests, 2), (Packs{{0, 2}, {1, 3}, {4}, {5}}));
  EXPECT_EQ(plan(requests, 16, true), (Packs{{0}, {1}, {2}, {3}, {4}, {5}}));
}

TEST(Packs, WhatSharesStateStaysAlone) {
  const auto with = [](const std::string& system, const auto& change) {
    RunRequest r = request(plus_one(0), system);
    change(r);
    return may_be_packed(r);
  };
  EXPECT_TRUE(with("inductor", [](RunRequest&) {}));
  EXPECT_FALSE(with("inductor", [](RunRequest& r) { r.test.environment.warm_caches = true; }));
  EXPECT_FALSE(with("inductor", [](RunRequest& r) {
    r.test.environment.primed_by = SdpaChoice{{SdpaKernel::kMath}, false};
  }));
  EXPECT_FALSE(with("inductor", [](RunRequest& r) { r.profile = true; }));
  EXPECT_TRUE(with("eager@cpp", [](RunRequest& r) { r.profile = true; }));
  EXPECT_FALSE(with("eager@cpp[fault=crash]", [](RunRequest&) {}));
}

TEST(Packs, AreBoundedByTheirNodes) {
  Case large = plus_one(0);
  for (std::size_t i = 0; i < kPackNodes / 2; ++i)
    large.program.nodes.push_back(large.program.nodes[0]);
  const std::vector<RunRequest> requests(5, request(large));
  EXPECT_EQ(plan(requests, 16), (Packs{{0, 1}, {2, 3}, {4}}));
}

TEST(Cache, ForgetsTheLeastRecentlyUsedAndPrefersLoneRuns) {
  ulpfuzz::Run small;
  small.worker_text = std::string(1000, 'x');
  RunCache cache(10 * (sizeof(ulpfuzz::Run) + 1000));
  for (int i = 0; i < 10; ++i) cache.add(std::to_string(i), small);
  EXPECT_TRUE(cache.find("0", Company::kPacked));
  cache.add("10", small);
  EXPECT_TRUE(cache.find("0", Company::kPacked));   // was used
  EXPECT_FALSE(cache.find("1", Company::kPacked));  // was not
  ulpfuzz::Run packed = small;
  packed.packed_with = 4;
  cache.add("p", packed);
  EXPECT_TRUE(cache.find("p", Company::kPacked));
  EXPECT_FALSE(cache.find("p", Company::kSingle));
  cache.add("p", small);
  cache.add("p", packed);
  EXPECT_EQ(cache.find("p", Company::kSingle)->packed_with, 1);
  EXPECT_FALSE(cache.find("p", Company::kStock));
  small.stock = true;
  cache.add("p", small);
  cache.add("p", packed);
  EXPECT_TRUE(cache.find("p", Company::kStock));
}

// Answers come in the order of the requests, whatever was packed with what on which worker.
TEST(Scheduling, AnswersDoNotDependOnPacks) {
  std::vector<RunRequest> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(request(plus_one(i % 17)));
  Scheduler packed(op_table(), {.jobs = 2, .pack = 5});
  Scheduler single(op_table(), {.jobs = 1, .pack = 1});
  const Runs a = packed.run(requests);
  const Runs b = single.run(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(a[i].completed() && b[i].completed());
    EXPECT_EQ(a[i].executions[0].tensors[0].reals()[0], static_cast<double>(i % 17) + 1);
    EXPECT_EQ(a[i].executions[0].tensors[0].bytes, b[i].executions[0].tensors[0].bytes);
  }
  EXPECT_EQ(a[0].packed_with, 5);
  EXPECT_EQ(b[0].packed_with, 1);
  const SchedulerUsage usage = packed.usage();
  EXPECT_EQ(usage.requests, 20);
  EXPECT_EQ(usage.cached, 3);  // 17, 18, 19 are 0, 1, 2 again
  EXPECT_EQ(usage.runs, 17);
  EXPECT_GT(usage.system_cpu_seconds, 0);
  EXPECT_GT(usage.system_wall_seconds, 0);

  const Runs again = packed.run(requests);
  EXPECT_EQ(packed.usage().runs, 17);
  EXPECT_EQ(again[3].executions[0].tensors[0].bytes, a[3].executions[0].tensors[0].bytes);
  packed.run(requests, Company::kSingle);  // what was packed does not answer
  EXPECT_EQ(packed.usage().runs, 34);
}

// One item that does not fit the memory limit takes its pack down; the others still get results.
TEST(Scheduling, AFailedPackIsSplit) {
  std::vector<RunRequest> requests;
  for (int i = 0; i < 8; ++i) requests.push_back(request(plus_one(i)));
  Case huge = plus_one(0);
  huge.program.inputs[0].shape = {Dim(200'000'000)};
  requests[5] = request(huge);
  SchedulerOptions options{.jobs = 1, .pack = 8};
  options.limits.memory_bytes = 512 << 20;
  Scheduler scheduler(op_table(), options);
  const Runs runs = scheduler.run(requests);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].status, i == 5 ? Status::kOutOfMemory : Status::kCompleted) << i;
  }
  EXPECT_EQ(runs[5].packed_with, 1);
  EXPECT_EQ(scheduler.usage().repacked, 8 + 4 + 2);
}

TEST(Scheduling, AMissingSystemIsSaid) {
  Scheduler scheduler(op_table(), {.jobs = 1, .python = "/no/such/python"});
  const RunRequest python[] = {request(plus_one(1), "eager@py")};
  EXPECT_THROW(scheduler.run(python), NotAvailable);
  const RunRequest unknown[] = {request(plus_one(1), "jax")};
  EXPECT_THROW(scheduler.run(unknown), NotAvailable);
  EXPECT_FALSE(scheduler.info(parse_system("eager@py")).available);
  EXPECT_FALSE(scheduler.info(parse_system("jax")).why_not.empty());
  const Scheduler::SystemInfo info = scheduler.info(parse_system("eager@cpp"));
  EXPECT_TRUE(info.available) << info.why_not;
  EXPECT_TRUE(info.versions.contains("torch"));
}

// A worker that hangs does not hold up the end: stop() cuts it.
TEST(Scheduling, StopEndsWhatIsUnderWay) {
  Scheduler scheduler(op_table(), {.jobs = 1});
  std::jthread stopper;
  const std::vector<RunRequest> requests{request(plus_one(1), "eager@cpp[fault=hang]"),
                                         request(plus_one(2))};
  Runs runs;
  std::jthread runner([&] { runs = scheduler.run(requests); });
  while (scheduler.usage().runs == 0) std::this_thread::yield();
  scheduler.stop();
  runner.join();
  ASSERT_EQ(runs.size(), 2u);
  for (const auto& run : runs) {
    EXPECT_EQ(run.status, Status::kRaised);
    EXPECT_EQ(run.exception_type, "Stopped");
  }
}

}  // namespace
}  // namespace ulpfuzz
