#include "systems/environments.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "ir/error.h"
#include "systems/environment_files.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kGigabyte = 1 << 30;

// As ir/system_spec.cc reads it behind an @, and not hidden.
const std::regex& name_pattern() {
  static const std::regex pattern("[A-Za-z0-9][A-Za-z0-9_.+-]*");
  return pattern;
}

// A package, extras perhaps, one version (PEP 440's letters).
const std::regex& spec_pattern() {
  static const std::regex pattern(
      "([A-Za-z0-9][A-Za-z0-9._-]*)(\\[[A-Za-z0-9,_-]+\\])?==([A-Za-z0-9][A-Za-z0-9.+!_-]*)");
  return pattern;
}

void require_name(const std::string& name) {
  if (std::regex_match(name, name_pattern())) return;
  throw Error(name, "not a name of an environment: letters, digits and _.+- only");
}

}  // namespace

std::optional<EnvironmentFile> read_environment_file(const fs::path& environment) {
  std::ifstream in(environment / kEnvironmentFile);
  const Json json = Json::parse(in, nullptr, false);
  try {
    if (!json.is_object()) return std::nullopt;
    EnvironmentFile file{json.at("torch"), json.at("python"), json.at("specs")};
    if (!fs::exists(environment / "bin/python")) return std::nullopt;
    return file;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::uint64_t disk_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator it(folder, ignored), end; it != end;
       it.increment(ignored)) {
    struct stat info {};
    if (::lstat(it->path().c_str(), &info) == 0) {
      bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    }
  }
  return bytes;
}

fs::path environments_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? fs::path(value) : fs::path();
  };
  if (fs::path folder = variable("ULPFUZZ_ENVIRONMENTS"); !folder.empty()) return folder;
  fs::path data = variable("XDG_DATA_HOME");
  if (data.empty()) data = variable("HOME") / ".local/share";
  return data / "ulpfuzz/environments";
}

std::vector<InstalledEnvironment> installed_environments(const fs::path& folder) {
  std::vector<InstalledEnvironment> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (const std::optional<EnvironmentFile> file = read_environment_file(entry.path())) {
      found.push_back({entry.path().filename(), file->torch, file->python, entry.path(),
                       disk_bytes(entry.path())});
    }
  }
  std::ranges::sort(found, {}, &InstalledEnvironment::name);
  return found;
}

std::optional<fs::path> environment_python(const fs::path& folder, const std::string& name) {
  if (!std::regex_match(name, name_pattern()) || !read_environment_file(folder / name)) {
    return std::nullopt;
  }
  return folder / name / "bin/python";
}

EnvironmentWish parse_environment(const std::vector<std::string>& words) {
  EnvironmentWish wish{"", words};
  if (!words.empty() && words.front().find('=') == std::string::npos) {
    wish.name = words.front();
    wish.specs.erase(wish.specs.begin());
  }
  bool has_torch = false;
  for (const std::string& spec : wish.specs) {
    std::smatch parts;
    if (!std::regex_match(spec, parts, spec_pattern())) {
      throw Error(spec, "does not name one version of a package, as torch==2.15.0 does");
    }
    has_torch |= parts[1] == "torch";
    if (wish.name.empty()) wish.name = parts[1].str() + "-" + parts[3].str();
  }
  if (!has_torch) throw Error(wish.name, "an environment needs torch, as in torch==2.15.0");
  require_name(wish.name);
  return wish;
}

std::uint64_t remove_environment(const fs::path& folder, const std::string& name) {
  require_name(name);
  const fs::path path = folder / name;
  if (!fs::is_directory(path)) {
    throw Error(name, "there is no such environment in " + folder.string());
  }
  const std::uint64_t bytes = disk_bytes(path);
  fs::remove(path / kEnvironmentFile);  // first: what is half gone is not listed
  fs::remove_all(path);
  return bytes;
}

void require_room(const std::string& name, std::uint64_t more, std::uint64_t used,
                  std::uint64_t limit, std::uint64_t free) {
  const auto gigabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kGigabyte; };
  if (more > free) {
    throw Error(name, fmt::format("needs {:.1f} GB, but the disk has {:.1f} GB left",
                                  gigabytes(more), gigabytes(free)));
  }
  if (used > limit || more > limit - used) {
    throw Error(name, fmt::format("needs {:.1f} GB beside {:.1f} GB of environments, beyond the "
                                  "limit of {:.1f} GB: remove one, or raise --limit",
                                  gigabytes(more), gigabytes(used), gigabytes(limit)));
  }
}

}  // namespace ulpfuzz
