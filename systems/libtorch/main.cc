#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "systems/frames.h"
#include "systems/libtorch/child.h"
#include "systems/libtorch/package.h"

// ulpfuzz-libtorch --fd N: the worker that runs systems of LibTorch (systems/PROTOCOL.md). It warms
// up on one thread and forks a child for each run.
namespace ulpfuzz::libtorch {
namespace {

using Json = nlohmann::json;

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(1);  // it died before we asked
}

// What every child would otherwise load and set up for itself. On one thread: the child of a
// process that has run an OpenMP region hangs in its first one.
void warm_up() {
  at::set_num_threads(1);
  const at::Tensor x = at::ones({4, 4});
  at::softmax(at::matmul(x, x) + x.to(at::kBFloat16), -1).sum().item<double>();
}

void require_single_thread() {
  namespace fs = std::filesystem;
  const auto threads =
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  if (threads != 1) throw Error("more than one thread before a fork: the child would hang");
}

[[noreturn]] void be_child(Channel& channel, const Json& message, const Frame& frame,
                           pid_t parent) {
  int status = 1;
  try {
    ::setpgid(0, 0);
    die_with_parent(parent);
    const Json started = {{"type", "started"}, {"id", message.at("id")}, {"pid", ::getpid()}};
    if (channel.send(started.dump())) {
      serve_run(channel, message, frame.fds.empty() ? -1 : frame.fds.front().get());
      status = 0;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
  }
  std::cout.flush();
  std::_Exit(status);  // no destructors of libraries: whatever they do is not part of the run
}

void serve(Channel& channel, const Json& message, const Frame& frame) {
  if (message.at("system") == "aoti") prepare_for_packages();
  require_single_thread();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw Error(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) be_child(channel, message, frame, parent);
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) throw Error("cannot wait for a child");
  }
  ::kill(-child, SIGKILL);  // what it left behind: the zombie still holds the number
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  const Json done = {{"type", "done"},
                     {"id", message.at("id")},
                     {"exit", WIFEXITED(status) ? WEXITSTATUS(status) : 0},
                     {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
                     {"cpu_seconds", seconds(usage.ru_utime) + seconds(usage.ru_stime)},
                     {"max_rss_bytes", std::int64_t{1024} * usage.ru_maxrss}};
  if (!channel.send(done.dump())) throw Error("the supervisor is gone");
}

int descriptor(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--fd") {
    char* end = nullptr;
    const long fd = std::strtol(argv[2], &end, 10);
    if (*end == '\0' && fd > 2 && fd < 1 << 20) return static_cast<int>(fd);
  }
  throw Error("usage: ulpfuzz-libtorch --fd N, with a connected Unix stream socket as N");
}

void converse(int fd) {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  Channel channel{UniqueFd(fd)};
  warm_up();
  const Json hello = {{"type", "hello"},
                      {"protocol", 1},
                      {"worker", "libtorch"},
                      {"systems", {"eager@cpp", "aoti"}},
                      {"versions", versions()}};
  if (!channel.send(hello.dump())) return;
  Frame frame;
  while (channel.receive(frame, Channel::Clock::time_point::max()) == Channel::Status::kFrame) {
    const Json message = Json::parse(frame.text);
    const std::string type = message.at("type").get<std::string>();
    if (type == "bye") return;
    if (type != "run") throw Error("a message of an unknown type: " + type);
    serve(channel, message, frame);
  }
}

}  // namespace
}  // namespace ulpfuzz::libtorch

int main(int argc, char** argv) {
  try {
    const int fd = ulpfuzz::libtorch::descriptor(argc, argv);
    ulpfuzz::libtorch::die_with_parent(::getppid());
    ulpfuzz::libtorch::converse(fd);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "ulpfuzz-libtorch: " << error.what() << std::endl;
    return 2;
  }
}
