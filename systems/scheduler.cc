#include "systems/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <map>

#include "ir/error.h"
#include "ir/verify.h"
#include "systems/capture.h"
#include "systems/fault.h"
#include "systems/kinds.h"
#include "systems/pack.h"
#include "systems/package_run.h"
#include "systems/pool.h"
#include "systems/request.h"
#include "systems/result.h"
#include "systems/run_cache.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kCacheBytes = std::size_t{256} << 20;
constexpr double kConfirmHang = 4;  // times the limits

using End = WorkerAnswer::End;

Run raised(std::string type, std::string message) {
  Run run;
  run.status = Run::Status::kRaised;
  run.stage = Stage::kStart;
  run.exception_type = std::move(type);
  run.exception_message = std::move(message);
  return run;
}

Run stopped_run() { return raised("Stopped", "the run was stopped before it ended"); }
bool was_stopped(const Run& run) { return run.exception_type == "Stopped"; }

// A request ready to be sent: faults of the program planted, sizes numbers.
struct Prepared {
  RunRequest request;
  ExpectedRun expected;
};

Prepared prepare(const RunRequest& request, const OpTable& table) {
  Prepared prepared{request, {}};
  RunRequest& ready = prepared.request;
  const auto fault = ready.system.options.find("fault");
  if (fault != ready.system.options.end()) {
    bool planted = false;
    ready.test = plant(ready.test, fault->second, table, planted);
    if (fault_kind(fault->second).in_program) ready.system.options.erase(fault);
  }
  ready.test = bind_symbols(ready.test);
  if (ready.test != asked_of(ready.system, ready.test)) {
    throw Error(ready.system.name, "runs forward only: ask for the forward part");
  }
  verify(ready.test, table);
  prepared.expected = {ready.input_sets, expected_results(ready, table),
                       system_kind(ready.system.name).has_values};
  return prepared;
}

// A compiler's word that it has run is not enough.
void require_proof(const SystemKind& kind, Run& run) {
  if (!kind.compiles || !run.completed()) return;
  const auto graphs = run.counters.find("graphs");
  if (graphs != run.counters.end() && graphs->second >= 1) return;
  run.status = Run::Status::kNotCompiled;
  run.executions.clear();
}

// What is sent to a worker.
struct Message {
  std::int64_t id;
  Limits limits;
  std::string text;
};

// The runs of a pack; nothing when the pool was stopped.
std::optional<std::vector<Run>> run_on(Slot& slot, const WorkerCommand& command,
                                       const Message& message,
                                       const std::vector<ExpectedRun>& expected) {
  WorkerAnswer answer = slot.run(command, message.id, message.limits, message.text);
  if (answer.end == End::kStopped) return std::nullopt;
  std::vector<Run> runs;
  if (answer.end == End::kResult) {
    try {
      runs = read_result(answer.result, expected);
    } catch (const Error& error) {
      slot.drop(command);
      answer.end = End::kCrashed;
      answer.message = error.what();
    }
  }
  if (answer.end != End::kResult) runs.assign(expected.size(), failed_run(answer));
  for (Run& run : runs) run.worker_text = answer.text;
  return runs;
}

Limits times(const Limits& limits, double factor) {
  Limits result = limits;
  result.cpu_seconds *= factor;
  result.wall_seconds *= factor;
  return result;
}

}  // namespace

class Scheduler::Impl {
 public:
  Impl(const OpTable& table, SchedulerOptions options)
      : table_(table),
        options_(std::move(options)),
        cache_(kCacheBytes),
        pool_(options_.jobs > 0
                  ? options_.jobs
                  : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) {}

  std::vector<Run> run(std::span<const RunRequest> requests, Company company);
  using HostMessage = std::function<std::string(std::int64_t, const Limits&)>;
  std::string ask_host(const std::string& place, const SystemSpec& system, const std::string& isa,
                       const HostMessage& message);
  Case capture(const Case& c, const std::string& fault);
  SystemInfo info(const SystemSpec& system);
  SchedulerUsage usage() const;
  void stop() { pool_.stop(); }
  void forget() {
    const std::lock_guard lock(mutex_);
    cache_ = RunCache(kCacheBytes);
  }

 private:
  // One call of run(): what waits for its packs.
  struct Batch {
    Company company;
    std::vector<Prepared> prepared;
    std::vector<Run> runs;
    std::mutex mutex;
    std::condition_variable finished;
    std::size_t left = 0;  // requests without a run
    std::exception_ptr error;
  };
  using Pack = std::vector<std::size_t>;  // of indices into `prepared`

  std::vector<Run> run_all(std::span<const RunRequest* const> requests, Company company);
  void submit(const std::shared_ptr<Batch>& batch, Pack pack, bool first);
  void run_pack(Slot& slot, const std::shared_ptr<Batch>& batch, const Pack& pack);
  std::vector<Run> attempt(Slot& slot, const Batch& batch, const Pack& pack, double factor);
  void on_worker(const std::function<void(Slot&)>& task);
  static void finish(Batch& batch, const Pack& pack, std::vector<Run> runs);

  const OpTable& table_;
  const SchedulerOptions options_;
  std::mutex mutex_;  // of the cache
  RunCache cache_;
  std::atomic<std::int64_t> requests_ = 0, cached_ = 0, runs_ = 0, repacked_ = 0, next_id_ = 1;
  WorkerPool pool_;
};

std::vector<Run> Scheduler::Impl::run(std::span<const RunRequest> requests, Company company) {
  requests_ += static_cast<std::int64_t>(requests.size());
  std::vector<std::string> keys;
  for (const RunRequest& request : requests) keys.push_back(request.hash());

  std::map<std::string, Run> answers;
  if (options_.cache) {
    const std::lock_guard lock(mutex_);
    for (const std::string& key : keys) {
      if (std::optional<Run> run = cache_.find(key, company)) answers[key] = std::move(*run);
    }
  }
  std::vector<const RunRequest*> wanted;
  std::vector<std::string> wanted_keys;
  std::map<std::string, std::size_t> places;  // of the keys that are wanted
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (answers.contains(keys[i]) || !places.emplace(keys[i], wanted.size()).second) {
      ++cached_;
      continue;
    }
    wanted.push_back(&requests[i]);
    wanted_keys.push_back(keys[i]);
  }
  std::vector<Run> fresh = run_all(wanted, company);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (options_.cache && !was_stopped(fresh[i])) {
      const std::lock_guard lock(mutex_);
      cache_.add(wanted_keys[i], fresh[i]);
    }
    answers[wanted_keys[i]] = std::move(fresh[i]);
  }
  std::vector<Run> runs;
  for (const std::string& key : keys) runs.push_back(answers.at(key));
  return runs;
}

std::vector<Run> Scheduler::Impl::run_all(std::span<const RunRequest* const> requests,
                                          Company company) {
  for (const RunRequest* request : requests) {  // before anything is run
    worker_command(request->system, options_.python, request->test.environment.isa);
    if (!system_kind(request->system.name).runner.empty()) {
      runner_command(request->system, request->test.environment.isa);
    }
    const auto fault = request->system.options.find("fault");
    if (fault != request->system.options.end()) fault_kind(fault->second);
  }
  auto batch = std::make_shared<Batch>();
  batch->company = company;
  batch->prepared.resize(requests.size());
  batch->runs.resize(requests.size());
  std::vector<std::size_t> ready;
  std::vector<const RunRequest*> to_pack;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    try {
      batch->prepared[i] = prepare(*requests[i], table_);
      ready.push_back(i);
      to_pack.push_back(&batch->prepared[i].request);
    } catch (const Error& error) {
      batch->runs[i] = raised("InvalidCase", error.what());
    }
  }
  batch->left = ready.size();
  const auto largest = static_cast<std::size_t>(std::max(options_.pack, 1));
  for (Pack pack : plan_packs(to_pack, largest, company != Company::kPacked, pool_.jobs())) {
    for (std::size_t& index : pack) index = ready[index];
    submit(batch, std::move(pack), false);
  }
  std::unique_lock lock(batch->mutex);
  batch->finished.wait(lock, [&] { return batch->left == 0; });
  if (batch->error) std::rethrow_exception(batch->error);
  return std::move(batch->runs);
}

void Scheduler::Impl::submit(const std::shared_ptr<Batch>& batch, Pack pack, bool first) {
  pool_.submit(
      [this, batch, pack = std::move(pack)](Slot& slot) {
        bool failed = false;
        {
          const std::lock_guard lock(batch->mutex);
          failed = batch->error != nullptr;
        }
        if (failed || pool_.stopped()) {
          return finish(*batch, pack, std::vector<Run>(pack.size(), stopped_run()));
        }
        try {
          run_pack(slot, batch, pack);
        } catch (...) {
          const bool stopped = pool_.stopped();  // then a worker may have been cut in its start
          if (!stopped) {
            const std::lock_guard lock(batch->mutex);
            batch->error = std::current_exception();
          }
          finish(*batch, pack, std::vector<Run>(pack.size(), stopped_run()));
        }
      },
      first);
}

void Scheduler::Impl::finish(Batch& batch, const Pack& pack, std::vector<Run> runs) {
  const std::lock_guard lock(batch.mutex);
  for (std::size_t i = 0; i < pack.size(); ++i) batch.runs[pack[i]] = std::move(runs[i]);
  batch.left -= pack.size();
  batch.finished.notify_all();
}

// Runs a pack; one that says nothing of its items is halved, down to single items.
void Scheduler::Impl::run_pack(Slot& slot, const std::shared_ptr<Batch>& batch, const Pack& pack) {
  const std::size_t n = pack.size();
  std::vector<Run> runs = attempt(slot, *batch, pack, 1 + static_cast<double>(n - 1) / 8);
  if (n == 1 && runs[0].status == Run::Status::kHung) {
    runs = attempt(slot, *batch, pack, kConfirmHang);
  }
  const bool told = std::ranges::any_of(runs, &Run::completed) || was_stopped(runs[0]);
  if (n == 1 || told) return finish(*batch, pack, std::move(runs));
  repacked_ += static_cast<std::int64_t>(n);
  const auto middle = pack.begin() + static_cast<std::ptrdiff_t>(n / 2);
  submit(batch, Pack(middle, pack.end()), true);
  submit(batch, Pack(pack.begin(), middle), true);
}

// One run a request of the pack; the same for all when the worker came to another end than a
// result, or when the pack was compiled as one and failed.
std::vector<Run> Scheduler::Impl::attempt(Slot& slot, const Batch& batch, const Pack& pack,
                                          double factor) {
  std::vector<const RunRequest*> requests;
  std::vector<ExpectedRun> expected;
  for (const std::size_t i : pack) {
    requests.push_back(&batch.prepared[i].request);
    expected.push_back(batch.prepared[i].expected);
  }
  const RunRequest& first = *requests.front();
  const SystemKind& kind = system_kind(first.system.name);
  const Limits limits = times(options_.limits, factor);
  const std::int64_t id = next_id_++;
  const WorkerCommand command =
      worker_command(first.system, options_.python, first.test.environment.isa);
  runs_ += static_cast<std::int64_t>(pack.size());
  const bool stock = batch.company == Company::kStock;
  std::string message;
  try {
    message = run_message(id, requests, limits, stock, kind.worker, table_);
  } catch (const Error& error) {
    return std::vector<Run>(pack.size(), raised("InvalidCase", error.what()));
  }
  std::optional<std::vector<Run>> runs;
  if (kind.runner.empty()) {
    runs = run_on(slot, command, {id, limits, std::move(message)}, expected);
  } else if (std::optional<Run> run =
                 run_by_package(slot,
                                {&first, &expected[0], command,
                                 runner_command(first.system, first.test.environment.isa),
                                 std::move(message), id, limits, stock},
                                table_)) {
    runs = {std::move(*run)};
  }
  if (!runs) return std::vector<Run>(pack.size(), stopped_run());
  for (Run& run : *runs) {
    require_proof(kind, run);
    run.packed_with = static_cast<int>(pack.size());
    run.stock = stock || (!kind.compiles && pack.size() == 1);
  }
  return *std::move(runs);
}

// Does a task, which may throw, on a thread that has workers.
void Scheduler::Impl::on_worker(const std::function<void(Slot&)>& task) {
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::exception_ptr error;
  pool_.submit([&](Slot& slot) {
    try {
      task(slot);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    finished.notify_all();
  });
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return done; });
  if (error) std::rethrow_exception(error);
}

std::string Scheduler::Impl::ask_host(const std::string& place, const SystemSpec& system,
                                      const std::string& isa, const HostMessage& message) {
  const std::int64_t id = next_id_++;
  const WorkerCommand command = worker_command(system, options_.python, isa);
  WorkerAnswer answer;
  on_worker([&](Slot& slot) {
    answer = slot.run(command, id, options_.limits, message(id, options_.limits));
  });
  if (answer.end != End::kResult) throw Error(place, "no answer of the host: " + answer.message);
  return answer.result.text;
}

Case Scheduler::Impl::capture(const Case& c, const std::string& fault) {
  const std::string result = ask_host(
      "/module", {"eager@py", {}, ""}, c.environment.isa,
      [&](std::int64_t id, const Limits& limits) { return capture_message(id, c, fault, limits); });
  return captured_case(result, c, table_);
}

Scheduler::SystemInfo Scheduler::Impl::info(const SystemSpec& system) {
  SystemInfo info{system, false, "", {}};
  on_worker([&](Slot& slot) {
    try {
      std::vector<WorkerCommand> commands{worker_command(system, options_.python, "native")};
      if (!system_kind(system.name).runner.empty()) {
        commands.push_back(runner_command(system, "native"));
      }
      info.available = true;
      for (const WorkerCommand& command : commands) {
        const WorkerHello hello = slot.hello(command);
        info.versions.insert(hello.versions.begin(), hello.versions.end());
        info.available &= std::ranges::find(hello.systems, system.name) != hello.systems.end();
      }
      if (!info.available) info.why_not = "the worker does not serve it";
    } catch (const std::exception& error) {
      info.available = false;
      info.why_not = error.what();
    }
  });
  return info;
}

SchedulerUsage Scheduler::Impl::usage() const {
  return {pool_.meter().cpu_seconds(),
          pool_.meter().wall_seconds(),
          requests_,
          cached_,
          runs_,
          repacked_};
}

Scheduler::Scheduler(const OpTable& table, SchedulerOptions options)
    : impl_(std::make_unique<Impl>(table, std::move(options))) {}
Scheduler::~Scheduler() = default;

std::vector<Run> Scheduler::run(std::span<const RunRequest> requests, Company company) {
  return impl_->run(requests, company);
}
void Scheduler::forget() { impl_->forget(); }
void Scheduler::stop() { impl_->stop(); }
SchedulerUsage Scheduler::usage() const { return impl_->usage(); }
Case Scheduler::capture(const Case& c, const std::string& fault) {
  return impl_->capture(c, fault);
}
std::string Scheduler::ask_host(
    const std::string& place,
    const std::function<std::string(std::int64_t, const Limits&)>& message,
    const SystemSpec& system) {
  return impl_->ask_host(place, system, Environment().isa, message);
}
Scheduler::SystemInfo Scheduler::info(const SystemSpec& system) { return impl_->info(system); }

}  // namespace ulpfuzz
