#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "systems/unique_fd.h"
#include "systems/worker.h"

namespace ulpfuzz {

// Time spent by workers.
class WorkMeter {
 public:
  void begin();  // a system is at work, on one more thread
  void end();
  void add_cpu(double seconds);
  double wall_seconds() const;  // during which at least one system was at work
  double cpu_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  int active_ = 0;
  Clock::time_point since_;
  double wall_ = 0;
  double cpu_ = 0;
};

// The warm workers of one thread.
class Slot {
 public:
  Slot(WorkMeter& meter, int stop_fd) : meter_(meter), stop_fd_(stop_fd) {}

  // Sends a run to the worker of this command, starting or replacing it where needed. A worker that
  // was found dead before it began is replaced once. Throws NotAvailable when it cannot be started
  // or refuses the run.
  WorkerAnswer run(const WorkerCommand& command, std::int64_t id, const Limits& limits,
                   const std::string& message, std::span<const int> fds = {});
  WorkerHello hello(const WorkerCommand& command);
  void drop(const WorkerCommand& command);  // after it gave an answer that cannot be believed

 private:
  struct Warm {
    WorkerCommand command;
    std::unique_ptr<Worker> worker;
    double counted_cpu = 0;
  };
  Warm& warm(const WorkerCommand& command, bool& fresh);
  void count(Warm& entry);
  void remove(std::size_t index);

  WorkMeter& meter_;
  const int stop_fd_;
  std::vector<Warm> workers_;  // most recently used last
};

// Threads that each keep warm workers. Workers die with the thread that started them, so the
// threads live as long as the pool. The thread that was busy last is the first to get a task: its
// workers are the likeliest to be warm.
class WorkerPool {
 public:
  using Task = std::function<void(Slot&)>;

  explicit WorkerPool(int jobs);
  ~WorkerPool();  // abandons what waits, ends the workers
  std::size_t jobs() const { return threads_.size(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void submit(Task task, bool first = false);  // tasks do not throw

  void stop();  // for ever: runs under way end with kStopped. Async-signal-safe
  bool stopped() const;
  const WorkMeter& meter() const { return meter_; }

 private:
  void work(const std::stop_token& ending, int thread);
  bool has_turn(int thread) const;

  UniqueFd stop_event_;
  WorkMeter meter_;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Task> tasks_;
  std::vector<int> idle_;  // threads that wait, the one that was busy last at the end
  std::vector<std::jthread> threads_;
};

}  // namespace ulpfuzz
