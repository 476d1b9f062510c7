#include "bisect/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "ir/error.h"
#include "systems/environments.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {


// The numbers of "2.11.0"; nothing for "2.11.0rc1", "2.11.0.post1".
std::optional<std::vector<int>> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  const char* at = version.data();
  const char* end = at + version.size();
  while (true) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0) return std::nullopt;
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
}

std::vector<int> release_number(const std::string& version) {
  const auto numbers = numbers_of(version);
  if (!numbers || numbers->size() < 2) {
    throw Error("--versions", "'" + version + "' is not a release, as 2.11.0 is");
  }
  return *numbers;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \r\t");
  return first == std::string::npos
             ? ""
             : text.substr(first, text.find_last_not_of(" \r\t") - first + 1);
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    words.push_back(trimmed(list.substr(start, end - start)));
    start = end + 1;
  }
  return words;
}

// "2.11.0+cu130" is the release 2.11.0.
std::string without_build(const std::string& version) {
  return version.substr(0, version.find('+'));
}

// Asks releases; installs and removes what they need.
class Releases {
 public:
  Releases(const SystemSpec& system, Probe& probe, const OpTable& table,
           const VersionOptions& options)
      : system_(system), probe_(probe), table_(table), options_(options) {}

  Probed own() { return ask(system_); }

  Probed ask_release(const std::string& version) {
    SystemSpec there = system_;
    there.environment = "torch-" + version;
    const std::filesystem::path folder = environments_folder();
    const bool here = environment_python(folder, there.environment).has_value();
    if (!here) {
      InstallOptions install;
      install.python = options_.python;
      install.limit_bytes = options_.limit_bytes;
      install.stopped = options_.stopped;
      install.progress = options_.progress;
      try {
        add_environment(folder, {there.environment, {"torch==" + version}}, install);
      } catch (const Error& error) {
        if (options_.stopped()) throw;
        return {Answer::kUntestable, error.what(), ""};
      }
    }
    const Probed answer = ask(there);
    if (!here && !options_.keep) remove_environment(folder, there.environment);
    options_.progress(fmt::format("torch {}: {}", version, answer.verdict));
    return answer;
  }

 private:
  // With a scheduler of its own, so that no process of an environment outlives the question.
  Probed ask(const SystemSpec& system) {
    if (options_.stopped()) throw Error("bisect", "stopped");
    Scheduler scheduler(table_, options_.scheduler);
    return probe_.ask(system, scheduler);
  }

  const SystemSpec& system_;
  Probe& probe_;
  const OpTable& table_;
  const VersionOptions& options_;
};

}  // namespace

std::vector<std::string> parse_versions(
    const std::string& text, const std::function<std::vector<std::string>()>& available) {
  std::vector<std::string> versions;
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    versions = words_of(text);
    for (const std::string& version : versions) release_number(version);
  } else {
    const std::vector<int> low = release_number(text.substr(0, dots));
    const std::vector<int> high = release_number(text.substr(dots + 2));
    for (const std::string& version : available()) {
      const auto numbers = numbers_of(version);
      if (numbers && *numbers >= low && *numbers <= high) versions.push_back(version);
    }
  }
  std::ranges::sort(versions, {}, [](const std::string& v) { return *numbers_of(v); });
  const auto twice = std::ranges::unique(versions);
  versions.erase(twice.begin(), twice.end());
  if (versions.size() < 2) {
    throw Error("--versions", "'" + text + "' are fewer than two releases that can be had");
  }
  return versions;
}

std::vector<std::string> available_releases(const std::string& python) {
  const ProgramEnd end = run_program(
      {python, "-m", "pip", "--disable-pip-version-check", "index", "versions", "torch"}, {});
  const std::string& text = end.text;
  constexpr std::string_view kMark = "Available versions:";
  const std::size_t mark = text.find(kMark);
  if (!end.succeeded() || mark == std::string::npos) {
    throw Error("pip index versions torch", trimmed(text.substr(0, text.find('\n'))));
  }
  const std::size_t start = mark + kMark.size();
  return words_of(text.substr(start, text.find('\n', start) - start));
}

VersionsFound bisect_versions(const SystemSpec& system, const std::vector<std::string>& versions,
                              Probe& probe, const OpTable& table, const VersionOptions& options) {
  VersionsFound found{versions, {}, {}};
  Releases releases(system, probe, table, options);
  const Probed own = releases.own();
  options.progress(fmt::format("torch {}, the project's own: {}", own.torch, own.verdict));
  found.search = find_change(versions.size(), [&](std::size_t place) {
    const std::string& version = versions[place];
    const bool is_own = without_build(own.torch) == version;
    found.answers.push_back({version, is_own ? own : releases.ask_release(version)});
    return found.answers.back().probed.answer;
  });
  return found;
}

}  // namespace ulpfuzz
