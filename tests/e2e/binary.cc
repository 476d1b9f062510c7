#include "tests/e2e/binary.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

pid_t start(const std::vector<std::string>& argv, const fs::path& out, const fs::path& err) {
  std::vector<char*> pointers;
  for (const std::string& arg : argv) pointers.push_back(const_cast<char*>(arg.c_str()));
  pointers.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid > 0) return pid;
  const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int err_fd = open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out_fd, STDOUT_FILENO);
  dup2(err_fd, STDERR_FILENO);
  execv(pointers[0], pointers.data());
  _exit(127);
}

}  // namespace

nlohmann::json Output::json() const {
  const nlohmann::json object = nlohmann::json::parse(out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << "stdout:\n" << out << "\nstderr:\n" << err;
  return object;
}

Output run_program(const std::vector<std::string>& argv) {
  const Folder folder;
  Output output;
  output.status = wait_for(start(argv, folder / "out", folder / "err"));
  output.out = read_text(folder / "out");
  output.err = read_text(folder / "err");
  return output;
}

Output ulpfuzz_run(const std::vector<std::string>& args) {
  std::vector<std::string> argv{(build_folder() / "ulpfuzz").string()};
  argv.insert(argv.end(), args.begin(), args.end());
  return run_program(argv);
}

pid_t ulpfuzz_start(const std::vector<std::string>& args, const fs::path& log) {
  std::vector<std::string> argv{(build_folder() / "ulpfuzz").string()};
  argv.insert(argv.end(), args.begin(), args.end());
  return start(argv, log, log);
}

int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_running(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

fs::path build_folder() {
  if (const char* named = std::getenv("ULPFUZZ_BUILD_DIR")) return named;
  return fs::read_symlink("/proc/self/exe").parent_path();
}

std::string python() {
  if (const char* named = std::getenv("ULPFUZZ_PYTHON")) return named;
  return fs::absolute(".venv/bin/python").string();
}

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "ulpfuzz-e2e-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error(pattern);
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_text(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::map<std::string, std::string> verdicts_of(const nlohmann::json& judged) {
  std::map<std::string, std::string> verdicts;
  for (const auto& system : judged.at("systems")) {
    verdicts[system.at("system")] = system.at("primary");
  }
  return verdicts;
}

}  // namespace ulpfuzz
