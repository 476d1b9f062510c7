#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/run.h"
#include "systems/limits.h"
#include "systems/process.h"

namespace ulpfuzz {

// What a worker says of itself when it is ready.
struct WorkerHello {
  std::string worker;                // "python", "libtorch"
  std::vector<std::string> systems;  // "eager@py", "inductor"
  std::map<std::string, std::string> versions;
};

// What came of one run message.
struct WorkerAnswer {
  enum class End : std::uint8_t {
    kResult,       // `result` holds the result frame, not looked into yet
    kCrashed,      // the child, or the worker, died; or it broke the protocol
    kHung,         // SIGXCPU, or the wall limit
    kOutOfMemory,  // said so, or was killed at its limit
    kStopped,      // `stop_fd` became readable
    kRefused,      // the worker cannot serve it: no such system or device
  };
  End end = End::kCrashed;
  Frame result;
  Stage stage = Stage::kStart;  // the last one entered
  int signal = 0;               // of a crash
  std::string message;          // how it ended, in words
  std::string text;             // tail of its standard output and error
  bool started = false;         // the child was there
};

// A worker's end that is not a result, as a run.
Run failed_run(const WorkerAnswer& answer);

// One worker process and the conversation with it (PROTOCOL.md). Whatever the process does, run()
// returns soon after the limits: the child's group is killed first, so that the warm worker
// survives, then the worker. A worker that broke the protocol or did not survive is not alive() and
// is to be replaced.
//
// To be made, used and destroyed on one thread, see Process.
class Worker {
 public:
  static constexpr double kStartSeconds = 600;

  // Starts the process and waits for its greeting: seconds to a minute for a Python host that
  // compiles something to warm up. Throws NotAvailable, saying why, when there is none; a readable
  // `stop_fd` (-1: none) ends the wait.
  explicit Worker(const WorkerCommand& command, int stop_fd = -1,
                  double start_seconds = kStartSeconds);

  const WorkerHello& hello() const { return hello_; }
  bool alive() const { return !process_.ended(); }

  // `text` is the run message's JSON, `id` its id, `limits` what it says; `fds` travel with it. The
  // wall limit counts from when the child has started: before, the worker may be warming up.
  WorkerAnswer run(std::string_view text, std::int64_t id, const Limits& limits, int stop_fd = -1,
                   std::span<const int> fds = {});

  double cpu_seconds() const { return process_.cpu_seconds(); }
  pid_t pid() const { return process_.pid(); }

 private:
  class Conversation;
  enum class Event : std::uint8_t { kFrame, kDeadline, kStop, kGone, kGarbage };
  Event next(Frame& frame, Channel::Clock::time_point deadline, int stop_fd);

  Process process_;
  WorkerHello hello_;
};

}  // namespace ulpfuzz
