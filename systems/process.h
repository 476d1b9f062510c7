#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "systems/frames.h"

namespace ulpfuzz {

// How a worker is started: `argv` with `--fd N` appended, found by PATH as a shell would, in this
// process's environment with `variables` set; an empty value removes one.
struct WorkerCommand {
  std::vector<std::string> argv;
  std::map<std::string, std::string> variables;
  bool channel = true;  // false: a program that is no worker, and gets no `--fd N`
};

// The end of what was written, as valid UTF-8 (other bytes become '?').
class TextTail {
 public:
  static constexpr std::size_t kBytes = 16 << 10;
  void add(std::string_view bytes);
  std::string take();  // and begins anew

 private:
  std::string bytes_;
};

// A process in a group of its own, connected by a channel, with its standard output and error
// caught. It is killed, with its group, when this object goes, or when the *thread* that made the
// object ends (PR_SET_PDEATHSIG goes by threads): make it on a thread that outlives it.
class Process {
 public:
  // Throws Error when no process can be made. A program that cannot be executed ends at once with
  // status 127 and a reason in its output.
  explicit Process(const WorkerCommand& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  Channel& channel() { return channel_; }

  // The read end of its output, -1 when that is closed for good; drain() takes in what is there.
  int output_fd() const { return output_.get(); }
  void drain();
  TextTail& text() { return text_; }

  bool ended() const { return pid_ < 0; }
  void kill();  // the whole group; waits for the process
  // Waits for an end of its own until the deadline, then kills. The status of waitpid(2).
  int wait(Channel::Clock::time_point deadline);

  // CPU time of the process and of its children that have been waited for, so far or in the end.
  double cpu_seconds() const;

 private:
  bool reap(int options);  // true when the process has ended and is reaped

  pid_t pid_ = -1;
  Channel channel_{UniqueFd()};
  UniqueFd output_;
  TextTail text_;
  int status_ = 0;
  double final_cpu_seconds_ = 0;
};

// How a program that is no worker ended.
struct ProgramEnd {
  bool stopped = false;  // by the caller, and killed
  int status = 0;        // of waitpid(2)
  std::string text;      // the end of what it wrote
  double cpu_seconds = 0;
  bool succeeded() const;
};
// Runs it to its end, or until `stopped` says so, which is asked some times a second; null: never.
// What it and its children cost is counted as they end.
ProgramEnd run_program(std::vector<std::string> argv, std::map<std::string, std::string> variables,
                       const std::function<bool()>& stopped = nullptr);

// Whether `pid` is now a child of `parent`; a number that a worker claims is not killed otherwise.
bool is_child_of(pid_t pid, pid_t parent);

// CPU time of this process so far, user and system, without that of its children.
double own_cpu_seconds();

}  // namespace ulpfuzz
