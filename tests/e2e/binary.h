#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// The real binary, as a user runs it.
namespace ulpfuzz {

struct Output {
  int status = -1;  // exit status; 128 + signal
  std::string out, err;
  nlohmann::json json() const;  // of `out`; fails the test when it is not exactly one object
};

// Runs `ulpfuzz` with these arguments in the source root.
Output ulpfuzz_run(const std::vector<std::string>& args);

// Runs another program: argv[0] is its path.
Output run_program(const std::vector<std::string>& argv);

// Starts `ulpfuzz` and returns its process id; output goes to `log`.
pid_t ulpfuzz_start(const std::vector<std::string>& args, const std::filesystem::path& log);
int wait_for(pid_t pid);   // as Output::status
bool is_running(pid_t pid);  // not where it has ended and was not waited for

// Where the binaries under test are.
std::filesystem::path build_folder();

// The interpreter with torch that the systems use.
std::string python();

// A folder that is removed in the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_text(const std::filesystem::path& path, const std::string& text);

// {system: verdict} of `judge --json`.
std::map<std::string, std::string> verdicts_of(const nlohmann::json& judged);

}  // namespace ulpfuzz
