#include "systems/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "ir/error.h"

extern char** environ;

namespace ulpfuzz {
namespace {

constexpr int kChannelFd = 3;

// Fields of /proc/PID/stat after the name (which may hold spaces): proc(5).
struct ProcStat {
  pid_t parent = -1;
  double cpu_seconds = 0;
};

std::optional<ProcStat> proc_stat(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  ProcStat stat;
  fields >> skipped >> stat.parent;                 // state, ppid
  for (int i = 5; i <= 13; ++i) fields >> skipped;  // pgrp ... cmajflt
  double ticks = 0;
  for (int i = 14; i <= 17; ++i) {  // utime, stime, cutime, cstime
    double t = 0;
    fields >> t;
    ticks += t;
  }
  if (!fields) return std::nullopt;
  stat.cpu_seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return stat;
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

// The environment with `variables` in place of what it has of them.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!variables.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : variables) {
    if (!value.empty()) result.push_back(name + "=" + value);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char** argv, char** variables, int channel, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  // Above the places where they go, so that none is overwritten before it is moved.
  channel = ::fcntl(channel, F_DUPFD, 10);
  output = ::fcntl(output, F_DUPFD, 10);
  if (nothing < 0 || channel < 0 || output < 0) ::_exit(127);
  ::dup2(nothing, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::dup2(channel, kChannelFd);
  ::close_range(kChannelFd + 1, ~0U, 0);
  ::execvpe(argv[0], argv, variables);
  const char* reason = ::strerrordesc_np(errno);
  [[maybe_unused]] ssize_t n = ::write(2, argv[0], std::strlen(argv[0]));
  n = ::write(2, ": ", 2);
  n = ::write(2, reason, std::strlen(reason));
  ::_exit(127);
}

// Length of the UTF-8 sequence that starts at `i`, 0 when it is none.
std::size_t utf8_length(const std::string& s, std::size_t i) {
  const auto byte = [&](std::size_t k) {
    return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u;
  };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, beyond U+10FFFF.
  const unsigned second = byte(i + 1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

}  // namespace

void TextTail::add(std::string_view bytes) {
  bytes_.append(bytes);
  if (bytes_.size() > 2 * kBytes) bytes_.erase(0, bytes_.size() - kBytes);
}

std::string TextTail::take() {
  if (bytes_.size() > kBytes) bytes_.erase(0, bytes_.size() - kBytes);
  std::string text;
  for (std::size_t i = 0; i < bytes_.size();) {
    const std::size_t length = utf8_length(bytes_, i);
    text += length > 0 ? bytes_.substr(i, length) : "?";
    i += std::max<std::size_t>(length, 1);
  }
  bytes_.clear();
  return text;
}

Process::Process(const WorkerCommand& command) {
  Channel::Pair pair = Channel::make_pair();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(std::string("cannot make a pipe for a worker: ") + std::strerror(errno));
  }
  output_.reset(ends[0]);
  const UniqueFd write_end(ends[1]);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);

  std::vector<std::string> arguments = command.argv;
  if (command.channel) {
    arguments.insert(arguments.end(), {"--fd", std::to_string(kChannelFd)});
  }
  std::vector<std::string> variables = environment_with(command.variables);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw Error(std::string("cannot start a worker: ") + std::strerror(errno));
  if (pid == 0) {
    become(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), pair.second.get(),
           write_end.get(), parent);
  }
  ::setpgid(pid, pid);  // in both, so that it is done whoever comes first
  pid_ = pid;
  channel_ = Channel(std::move(pair.first));
}

Process::~Process() { kill(); }

void Process::drain() {
  char bytes[16384];
  // Bounded, so that an endless writer does not keep its reader here.
  for (int i = 0; i < 64 && output_; ++i) {
    const ssize_t n = ::read(output_.get(), bytes, sizeof(bytes));
    if (n > 0) {
      text_.add(std::string_view(bytes, static_cast<std::size_t>(n)));
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
      output_.reset();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

bool Process::reap(int options) {
  if (pid_ < 0) return true;
  rusage usage{};
  pid_t pid = 0;
  do pid = ::wait4(pid_, &status_, options, &usage);
  while (pid < 0 && errno == EINTR);
  if (pid == 0) return false;
  final_cpu_seconds_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  pid_ = -1;
  return true;
}

void Process::kill() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  reap(0);
  drain();
}

int Process::wait(Channel::Clock::time_point deadline) {
  if (pid_ >= 0) {
    // A descriptor of the process becomes readable when it ends: no polling.
    const UniqueFd ending(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (ending && wait_for(ending.get(), POLLIN, deadline)) ::kill(-pid_, SIGKILL);
    kill();
  }
  return status_;
}

double Process::cpu_seconds() const {
  if (pid_ < 0) return final_cpu_seconds_;
  const std::optional<ProcStat> stat = proc_stat(pid_);
  return stat ? stat->cpu_seconds : 0;
}

bool ProgramEnd::succeeded() const {
  return !stopped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

ProgramEnd run_program(std::vector<std::string> argv, std::map<std::string, std::string> variables,
                       const std::function<bool()>& stopped) {
  constexpr int kCheckMilliseconds = 200;
  Process process({std::move(argv), std::move(variables), /*channel=*/false});
  ProgramEnd end;
  while (process.output_fd() >= 0 && !end.stopped) {
    end.stopped = stopped && stopped();
    pollfd output{process.output_fd(), POLLIN, 0};
    if (!end.stopped) ::poll(&output, 1, kCheckMilliseconds);
    process.drain();
  }
  if (end.stopped) process.kill();
  end.status = process.wait(Channel::Clock::now() + std::chrono::minutes(1));
  end.text = process.text().take();
  end.cpu_seconds = process.cpu_seconds();
  return end;
}

bool is_child_of(pid_t pid, pid_t parent) {
  if (pid <= 1) return false;
  const std::optional<ProcStat> stat = proc_stat(pid);
  return stat && stat->parent == parent;
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace ulpfuzz
