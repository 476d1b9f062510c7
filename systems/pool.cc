#include "systems/pool.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

// Interpreters with torch take half a gigabyte each.
constexpr std::size_t kWarmWorkers = 3;

bool same(const WorkerCommand& a, const WorkerCommand& b) {
  return a.argv == b.argv && a.variables == b.variables;
}

class AtWork {
 public:
  explicit AtWork(WorkMeter& meter) : meter_(meter) { meter_.begin(); }
  ~AtWork() { meter_.end(); }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  WorkMeter& meter_;
};

}  // namespace

void WorkMeter::begin() {
  const std::lock_guard lock(mutex_);
  if (active_++ == 0) since_ = Clock::now();
}

void WorkMeter::end() {
  const std::lock_guard lock(mutex_);
  if (--active_ == 0) wall_ += std::chrono::duration<double>(Clock::now() - since_).count();
}

void WorkMeter::add_cpu(double seconds) {
  const std::lock_guard lock(mutex_);
  cpu_ += std::max(seconds, 0.0);
}

double WorkMeter::wall_seconds() const {
  const std::lock_guard lock(mutex_);
  if (active_ == 0) return wall_;
  return wall_ + std::chrono::duration<double>(Clock::now() - since_).count();
}

double WorkMeter::cpu_seconds() const {
  const std::lock_guard lock(mutex_);
  return cpu_;
}

void Slot::count(Warm& entry) {
  const double now = entry.worker->cpu_seconds();
  meter_.add_cpu(now - entry.counted_cpu);
  entry.counted_cpu = std::max(now, entry.counted_cpu);
}

void Slot::remove(std::size_t index) {
  workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Slot::drop(const WorkerCommand& command) {
  std::erase_if(workers_, [&](const Warm& entry) { return same(entry.command, command); });
}

Slot::Warm& Slot::warm(const WorkerCommand& command, bool& fresh) {
  const auto found = std::ranges::find_if(
      workers_, [&](const Warm& entry) { return same(entry.command, command); });
  fresh = found == workers_.end() || !found->worker->alive();
  if (!fresh) {
    std::rotate(found, found + 1, workers_.end());
    return workers_.back();
  }
  drop(command);
  if (workers_.size() >= kWarmWorkers) remove(0);
  workers_.push_back({command, std::make_unique<Worker>(command, stop_fd_), 0});
  count(workers_.back());
  return workers_.back();
}

WorkerAnswer Slot::run(const WorkerCommand& command, std::int64_t id, const Limits& limits,
                       const std::string& message, std::span<const int> fds) {
  const AtWork at_work(meter_);
  for (;;) {
    bool fresh = false;
    Warm& entry = warm(command, fresh);
    WorkerAnswer answer = entry.worker->run(message, id, limits, stop_fd_, fds);
    count(entry);
    const bool alive = entry.worker->alive();
    if (!alive) drop(command);
    if (answer.end == WorkerAnswer::End::kRefused) {
      throw NotAvailable(command.argv.front(), answer.message);
    }
    // It had died while it waited: nothing that this run did.
    if (!alive && !fresh && !answer.started && answer.end == WorkerAnswer::End::kCrashed) continue;
    return answer;
  }
}

WorkerHello Slot::hello(const WorkerCommand& command) {
  const AtWork at_work(meter_);
  bool fresh = false;
  return warm(command, fresh).worker->hello();
}

WorkerPool::WorkerPool(int jobs) : stop_event_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_event_) throw Error("cannot make an eventfd");
  for (int i = 0; i < jobs; ++i) {
    threads_.emplace_back([this, i](const std::stop_token& ending) { work(ending, i); });
  }
}

WorkerPool::~WorkerPool() {
  stop();
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void WorkerPool::submit(Task task, bool first) {
  {
    const std::lock_guard lock(mutex_);
    if (first) {
      tasks_.push_front(std::move(task));
    } else {
      tasks_.push_back(std::move(task));
    }
  }
  arrived_.notify_all();
}

void WorkerPool::stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(stop_event_.get(), &one, sizeof(one));
}

bool WorkerPool::stopped() const {
  pollfd p{stop_event_.get(), POLLIN, 0};
  return ::poll(&p, 1, 0) > 0;
}

// Is there a task for this thread, which waits, after those that have waited less long?
bool WorkerPool::has_turn(int thread) const {
  const auto place = std::ranges::find(idle_, thread);
  return static_cast<std::ptrdiff_t>(tasks_.size()) > idle_.end() - place - 1;
}

void WorkerPool::work(const std::stop_token& ending, int thread) {
  Slot slot(meter_, stop_event_.get());
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      idle_.push_back(thread);
      if (!arrived_.wait(lock, ending, [&] { return has_turn(thread); })) return;
      if (ending.stop_requested()) return;
      std::erase(idle_, thread);
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task(slot);
  }
}

}  // namespace ulpfuzz
