// Installing an environment: a virtual environment, pip's answer to what it would install, a lock
// of that, a look at the disk, the installation of exactly the lock.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "systems/environment_files.h"
#include "systems/environments.h"
#include "systems/kinds.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kLock = "requirements.lock";
// pip reads the metadata of packages without fetching them from here on.
constexpr const char* kPip = "pip>=23.2";

// Of one process at a time; freed when that ends.
UniqueFd lock_folder(const fs::path& folder) {
  fs::create_directories(folder);
  UniqueFd lock(::open((folder / ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    throw Error(folder.string(), "another process installs an environment there");
  }
  return lock;
}

// The line that says most: pip's last one that names an error, else the last.
std::string reason(const std::string& output) {
  std::string last;
  std::string error;
  for (std::size_t start = 0; start < output.size();) {
    const std::size_t end = std::min(output.find('\n', start), output.size());
    const std::string line = output.substr(start, end - start);
    if (!line.empty()) last = line;
    if (line.starts_with("ERROR:")) error = line.substr(std::string("ERROR: ").size());
    start = end + 1;
  }
  return error.empty() ? last : error;
}

class Installation {
 public:
  Installation(const fs::path& folder, const EnvironmentWish& wish, const InstallOptions& options)
      : folder_(folder), path_(folder / wish.name), wish_(wish), options_(options) {}

  void install() {
    fs::remove_all(path_);  // the rest of one that was cut
    try {
      make();
    } catch (...) {
      fs::remove_all(path_);
      throw;
    }
  }

 private:
  void make() {
    say("asking what belongs to it");
    run({options_.python, "-m", "venv", path_});
    fs::create_directories(temporary());
    pip({"install", "--upgrade", kPip});
    std::vector<std::string> ask{"install", "--dry-run", "--only-binary=:all:", "--report",
                                 report()};
    ask.insert(ask.end(), wish_.specs.begin(), wish_.specs.end());
    pip(ask);
    run({python(), python_sources() / "wheels.py", report(), wheels()});
    const Json needed = Json::parse(std::ifstream(wheels()));
    write(path_ / kLock, needed.at("lock"));
    const auto bytes = needed.at("unpacked_bytes").get<std::uint64_t>();
    // Wheels lie beside what is unpacked of them until the end.
    const std::uint64_t peak = bytes + needed.at("download_bytes").get<std::uint64_t>();
    require_room(wish_.name, bytes, disk_bytes(folder_), options_.limit_bytes,
                 fs::space(folder_).available);
    require_room(wish_.name, peak, 0, peak, fs::space(folder_).available);
    say(fmt::format("installing {} packages, {:.1f} GB", needed.at("packages").get<int>(),
                    static_cast<double>(bytes) / (1 << 30)));
    pip({"install", "--only-binary=:all:", "--no-deps", "--require-hashes", "-r", path_ / kLock});
    run({python(), "-c", "import torch"});
    fs::remove_all(temporary());
    const Json file{
        {"torch", needed.at("torch")}, {"python", needed.at("python")}, {"specs", wish_.specs}};
    write(path_ / "environment.json.new", file.dump(2) + "\n");
    fs::rename(path_ / "environment.json.new", path_ / kEnvironmentFile);
  }

  fs::path python() const { return path_ / "bin/python"; }
  fs::path temporary() const { return path_ / "tmp"; }
  fs::path report() const { return temporary() / "report.json"; }
  fs::path wheels() const { return temporary() / "wheels.json"; }

  void say(const std::string& what) const { options_.progress(wish_.name + ": " + what); }

  static void write(const fs::path& path, const std::string& text) {
    std::ofstream out(path);
    if (!(out << text << std::flush)) throw Error(path.string(), "cannot be written");
  }

  void pip(std::vector<std::string> arguments) {
    std::vector<std::string> argv{python(),
                                  "-m",
                                  "pip",
                                  "--no-input",
                                  "--no-cache-dir",
                                  "--quiet",
                                  "--disable-pip-version-check"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    run(std::move(argv));
  }

  // To its end; its output is shown only when it fails.
  void run(std::vector<std::string> argv) {
    std::map<std::string, std::string> variables;
    if (fs::exists(temporary())) variables["TMPDIR"] = temporary();
    const ProgramEnd end = run_program(std::move(argv), std::move(variables), options_.stopped);
    if (end.stopped) throw Error(wish_.name, "stopped: nothing was installed");
    if (!end.succeeded()) throw Error(wish_.name, reason(end.text));
  }

  const fs::path folder_;
  const fs::path path_;
  const EnvironmentWish& wish_;
  const InstallOptions& options_;
};

}  // namespace

InstalledEnvironment add_environment(const fs::path& folder, const EnvironmentWish& wish,
                                     const InstallOptions& options) {
  const fs::path whole = fs::absolute(folder);
  const UniqueFd lock = lock_folder(whole);
  const fs::path path = whole / wish.name;
  std::optional<EnvironmentFile> file = read_environment_file(path);
  if (file && file->specs != wish.specs) {
    throw Error(wish.name, "there is another environment of this name: remove it first");
  }
  if (!file) {
    Installation(whole, wish, options).install();
    file = read_environment_file(path);
  }
  return {wish.name, file.value().torch, file.value().python, path, disk_bytes(path)};
}

}  // namespace ulpfuzz
