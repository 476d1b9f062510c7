#include "systems/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Json = nlohmann::json;
using Clock = Channel::Clock;

constexpr int kProtocol = 1;
constexpr int kMaxFrames = 10'000;  // in one run
constexpr std::chrono::seconds kGrace(10);

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, 1e7)));
}

// A member of an untrusted object, or a default when it is absent or of another type.
std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}
std::int64_t integer_of(const Json& object, const char* key, std::int64_t otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : otherwise;
}

Json parse(const std::string& text) { return Json::parse(text, nullptr, false); }

WorkerHello read_hello(const Json& hello) {
  if (!hello.is_object() || text_of(hello, "type") != "hello") {
    throw NotAvailable("the worker did not greet");
  }
  if (const auto version = integer_of(hello, "protocol", -1); version != kProtocol) {
    throw NotAvailable(
        fmt::format("the worker speaks protocol {}, this is {}", version, kProtocol));
  }
  WorkerHello result;
  result.worker = text_of(hello, "worker");
  for (const Json& system : hello.value("systems", Json::array())) {
    if (system.is_string()) result.systems.push_back(system.get<std::string>());
  }
  const Json versions = hello.value("versions", Json::object());  // items() only refers to it
  for (const auto& [key, value] : versions.items()) {
    if (value.is_string()) result.versions[key] = value.get<std::string>();
  }
  return result;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace

Run failed_run(const WorkerAnswer& answer) {
  using End = WorkerAnswer::End;
  Run run;
  run.stage = answer.stage;
  run.status = answer.end == End::kHung          ? Run::Status::kHung
               : answer.end == End::kOutOfMemory ? Run::Status::kOutOfMemory
                                                 : Run::Status::kCrashed;
  run.signal = answer.signal;
  run.exception_message = answer.message;
  return run;
}

Worker::Event Worker::next(Frame& frame, Clock::time_point deadline, int stop_fd) {
  for (;;) {
    process_.drain();
    switch (process_.channel().poll(frame)) {
      case Channel::Status::kFrame:
        return Event::kFrame;
      case Channel::Status::kClosed:
        return Event::kGone;
      case Channel::Status::kGarbage:
        return Event::kGarbage;
      case Channel::Status::kAgain:
        break;
    }
    if (Clock::now() >= deadline) return Event::kDeadline;
    pollfd fds[] = {{process_.channel().fd(), POLLIN, 0},
                    {process_.output_fd(), POLLIN, 0},
                    {stop_fd, POLLIN, 0}};
    if (::poll(fds, 3, poll_timeout(deadline)) > 0 && (fds[2].revents & POLLIN) != 0) {
      return Event::kStop;
    }
  }
}

Worker::Worker(const WorkerCommand& command, int stop_fd, double start_seconds)
    : process_(command) {
  Frame frame;
  const Event event = next(frame, after(start_seconds), stop_fd);
  if (event == Event::kFrame) {
    hello_ = read_hello(parse(frame.text));
    return;
  }
  process_.wait(event == Event::kGone ? Clock::now() + kGrace : Clock::now());
  process_.drain();
  std::string said = process_.text().take();
  // The last line is what a person wants of a traceback.
  while (!said.empty() && said.back() == '\n') said.pop_back();
  said = said.substr(said.rfind('\n') + 1);
  const std::string why = event == Event::kStop       ? "stopped"
                          : event == Event::kDeadline ? "the worker did not start in time"
                          : event == Event::kGarbage  ? "the worker did not speak the protocol"
                                                      : "the worker did not start";
  throw NotAvailable(command.argv.front(), said.empty() ? why : why + ": " + said);
}

// The state of one run: what has been heard, and whom to kill.
class Worker::Conversation {
 public:
  Conversation(Worker& worker, std::int64_t id, const Limits& limits, int stop_fd)
      : worker_(worker), id_(id), limits_(limits), stop_fd_(stop_fd) {}

  WorkerAnswer hold(std::string_view text, std::span<const int> fds) {
    worker_.process_.drain();
    worker_.process_.text().take();  // what was said before does not belong to this run
    const Clock::time_point deadline = after(kStartSeconds);
    if (worker_.process_.channel().send(text, fds, deadline)) {
      listen(deadline);
    } else {
      lost(WorkerAnswer::End::kCrashed, "did not take the request");
    }
    worker_.process_.drain();
    answer_.text = worker_.process_.text().take();
    return std::move(answer_);
  }

 private:
  void listen(Clock::time_point deadline) {
    Frame frame;
    for (int frames = 0; frames < kMaxFrames; ++frames) {
      switch (worker_.next(frame, deadline, stop_fd_)) {
        case Event::kFrame:
          switch (take(frame)) {
            case Heard::kStarted:
              deadline = after(limits_.wall_seconds);
              break;
            case Heard::kMore:
              if (has_result_ || has_memory_) deadline = std::min(deadline, after_grace());
              break;
            case Heard::kDone:
              return;
            case Heard::kNonsense:
              return lost(WorkerAnswer::End::kCrashed,
                          "sent a frame that the protocol does not know");
          }
          break;
        case Event::kDeadline:
          if (killed_child_ || !kill_child()) {
            return lost(WorkerAnswer::End::kHung, "did not answer within the wall limit");
          }
          deadline = after_grace();
          break;
        case Event::kStop:
          end(WorkerAnswer::End::kStopped, "stopped");
          worker_.process_.kill();
          return;
        case Event::kGone:
          return lost(WorkerAnswer::End::kCrashed, "died", true);
        case Event::kGarbage:
          return lost(WorkerAnswer::End::kCrashed, "sent what is not a frame");
      }
    }
    lost(WorkerAnswer::End::kCrashed, "sent frames without end");
  }

  enum class Heard : std::uint8_t { kStarted, kMore, kDone, kNonsense };

  Heard take(Frame& frame) {
    const Json message = parse(frame.text);
    if (!message.is_object() || integer_of(message, "id", -1) != id_) return Heard::kNonsense;
    const std::string type = text_of(message, "type");
    if (type == "stage") {
      const std::optional<Stage> stage = parse_stage(text_of(message, "stage"));
      if (!stage) return Heard::kNonsense;
      answer_.stage = *stage;
    } else if (type == "started" && !answer_.started) {
      child_ = static_cast<pid_t>(integer_of(message, "pid", -1));
      answer_.started = true;
      return Heard::kStarted;
    } else if (type == "refused" && !answer_.started) {
      end(WorkerAnswer::End::kRefused, text_of(message, "why"));
      return Heard::kDone;
    } else if (type == "memory") {
      has_memory_ = true;
    } else if (type == "result" && !has_result_) {
      has_result_ = true;
      answer_.result = std::move(frame);
    } else if (type == "done") {
      done(message);
      return Heard::kDone;
    } else {
      return Heard::kNonsense;
    }
    return Heard::kMore;
  }

  void done(const Json& message) {
    const int signal = static_cast<int>(integer_of(message, "signal", 0));
    const std::int64_t rss = integer_of(message, "max_rss_bytes", 0);
    if (has_memory_ || (!has_result_ && !killed_child_ && signal == SIGKILL &&
                        rss > limits_.memory_bytes - limits_.memory_bytes / 4)) {
      end(WorkerAnswer::End::kOutOfMemory, "went beyond its memory limit");
    } else if (has_result_) {
      end(WorkerAnswer::End::kResult, "");
    } else if (killed_child_) {
      end(WorkerAnswer::End::kHung, "did not end within the wall limit");
    } else if (signal == SIGXCPU) {
      end(WorkerAnswer::End::kHung, "did not end within the CPU limit");
    } else if (signal != 0) {
      answer_.signal = signal;
      end(WorkerAnswer::End::kCrashed, "killed by " + signal_name(signal));
    } else {
      end(WorkerAnswer::End::kCrashed,
          fmt::format("ended with status {}", integer_of(message, "exit", 0)));
    }
  }

  // The worker itself is of no use any more: it is killed, or is dying (`by_itself`).
  void lost(WorkerAnswer::End how, const std::string& message, bool by_itself = false) {
    const bool hung = killed_child_;
    kill_child();
    const int status = worker_.process_.wait(by_itself ? after_grace() : Clock::now());
    if (by_itself && has_result_) return end(WorkerAnswer::End::kResult, "");
    if (by_itself && has_memory_) how = WorkerAnswer::End::kOutOfMemory;
    end(hung ? WorkerAnswer::End::kHung : how, "the worker " + message);
    if (by_itself && WIFSIGNALED(status)) {
      answer_.signal = WTERMSIG(status);
      answer_.message += ", killed by " + signal_name(answer_.signal);
    }
  }

  // The group of the child, when the number that the worker gave is its child.
  bool kill_child() {
    if (killed_child_ || !is_child_of(child_, worker_.process_.pid())) return false;
    ::kill(-child_, SIGKILL);
    ::kill(child_, SIGKILL);
    killed_child_ = true;
    return true;
  }

  void end(WorkerAnswer::End how, std::string message) {
    answer_.end = how;
    answer_.message = std::move(message);
  }

  static Clock::time_point after_grace() { return Clock::now() + kGrace; }

  Worker& worker_;
  const std::int64_t id_;
  const Limits limits_;
  const int stop_fd_;
  WorkerAnswer answer_;
  pid_t child_ = -1;
  bool has_result_ = false;
  bool has_memory_ = false;
  bool killed_child_ = false;
};

WorkerAnswer Worker::run(std::string_view text, std::int64_t id, const Limits& limits, int stop_fd,
                         std::span<const int> fds) {
  return Conversation(*this, id, limits, stop_fd).hold(text, fds);
}

}  // namespace ulpfuzz
