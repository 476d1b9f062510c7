#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/expectation.h"
#include "fuzz/investigate.h"
#include "ir/error.h"
#include "ops/table.h"
#include "report/report.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder;
  std::string junit;
  int jobs = 0;
  bool json = false;
};

struct Replayed {
  fs::path file;
  Case test;
  std::vector<Expectation> expected;
};

std::vector<Replayed> read_folder(const fs::path& folder, Scheduler& scheduler) {
  if (!fs::is_directory(folder)) throw Error(folder.string(), "is not a folder");
  std::set<fs::path> files;  // sorted
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".json" && path.stem().extension() != ".expect") files.insert(path);
  }
  std::vector<Replayed> cases;
  for (const fs::path& file : files) {
    cases.push_back({file, find_case(file.string(), "", scheduler), read_expectations(file)});
  }
  if (cases.empty()) throw Error(folder.string(), "holds no case");
  return cases;
}

JudgeOptions options_for(const Replayed& replayed) {
  JudgeOptions options;
  options.ladder = JudgeOptions::Ladder::kAlways;
  for (const Expectation& e : replayed.expected) options.systems.push_back(parse_system(e.system));
  return options;
}

// Of the environment that the system ran in.
std::string torch_version(const Judged& judged, const std::string& system) {
  const std::string environment = parse_system(system).environment;
  for (const Evidence& e : judged.evidence) {
    if (e.request.system.environment != environment) continue;
    const auto it = e.run.versions.find("torch");
    if (it != e.run.versions.end()) return it->second;
  }
  return "";
}

bool met(const Expectation& expected, const Verdict& found, const std::string& torch) {
  const bool clean = !is_finding(found.primary) && found.primary != VerdictKind::kUndecided;
  if (expected.verdict == "clean" || !applies(expected, torch)) return clean;
  return name(found.primary) == expected.verdict;
}

ReplayResult result_of(const Replayed& replayed, const Judged& judged) {
  ReplayResult result;
  result.name = replayed.file.stem().string();
  result.as_expected = !judged.verdicts.empty();
  for (const Expectation& expected : replayed.expected) {
    const std::string torch = torch_version(judged, expected.system);
    const auto it = std::find_if(judged.verdicts.begin(), judged.verdicts.end(),
                                 [&](const Verdict& v) { return v.system == expected.system; });
    const std::string separator = result.expected.empty() ? "" : "; ";
    result.expected += separator + expected.system + ": " +
                       (applies(expected, torch) ? expected.verdict : "clean");
    if (it == judged.verdicts.end()) {
      result.as_expected = false;
      result.found += separator + expected.system + ": no verdict";
      continue;
    }
    result.found += separator + expected.system + ": " + std::string(name(it->primary));
    if (met(expected, *it, torch)) continue;
    result.as_expected = false;
    for (const Fact& fact : it->facts) result.detail += fact.detail + "\n";
  }
  for (const Evidence& e : judged.evidence) result.cpu_seconds += e.run.total_cpu_seconds();
  return result;
}

// Cases that ask for the same systems are judged together, so that their runs share packs. One that
// is not as expected is judged again alone: company must not be the cause.
std::vector<ReplayResult> replay(const std::vector<Replayed>& cases, Scheduler& scheduler) {
  std::map<std::vector<SystemSpec>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    groups[options_for(cases[i]).systems].push_back(i);
  }
  std::vector<ReplayResult> results(cases.size());
  for (const auto& [systems, members] : groups) {
    std::vector<Case> tests;
    for (const std::size_t i : members) tests.push_back(cases[i].test);
    const JudgeOptions options = options_for(cases[members.front()]);
    const std::vector<Judged> judged = judge_cases(tests, options, op_table(), scheduler);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const Replayed& replayed = cases[members[m]];
      ReplayResult& result = results[members[m]];
      result = result_of(replayed, judged[m]);
      if (result.as_expected) continue;
      result = result_of(
          replayed,
          judge_cases({replayed.test}, options, op_table(), scheduler, Company::kStock).front());
    }
  }
  return results;
}

void print(const std::vector<ReplayResult>& results, bool json) {
  const auto passed = std::count_if(results.begin(), results.end(),
                                    [](const ReplayResult& r) { return r.as_expected; });
  if (json) {
    nlohmann::json cases = nlohmann::json::array();
    for (const ReplayResult& r : results) {
      cases.push_back({{"name", r.name},
                       {"as_expected", r.as_expected},
                       {"expected", r.expected},
                       {"found", r.found},
                       {"cpu_seconds", r.cpu_seconds}});
    }
    const nlohmann::json object{
        {"cases", cases}, {"as_expected", passed}, {"total", results.size()}};
    fmt::print("{}\n", object.dump());
    return;
  }
  for (const ReplayResult& r : results) {
    fmt::print("{:<4} {:<36} {}\n", r.as_expected ? "ok" : "NOT", r.name, r.found);
    if (!r.as_expected) fmt::print("     expected {}\n{}", r.expected, r.detail);
  }
  fmt::print("{} of {} as expected\n", passed, results.size());
}

ExitStatus run(const Options& o) {
  SystemOptions systems;
  systems.jobs = o.jobs;
  Scheduler scheduler(op_table(), systems.scheduler());
  const std::vector<Replayed> cases = read_folder(o.folder, scheduler);
  const std::vector<ReplayResult> results = replay(cases, scheduler);
  if (!o.junit.empty()) {
    std::ofstream out(o.junit);
    out << junit_xml(results);
    if (!out.flush()) throw Error(o.junit, "cannot be written");
  }
  print(results, o.json);
  const bool all = std::all_of(results.begin(), results.end(),
                               [](const ReplayResult& r) { return r.as_expected; });
  return all ? kNothingFound : kFound;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("replay", "Judge a folder of cases against what is expected of them");
  command->add_option("DIR", o->folder, "Folder with NAME.json and NAME.expect.json")->required();
  command->add_option("--junit", o->junit, "Write JUnit XML here");
  command->add_option("--jobs", o->jobs, "Workers at the same time (default: one a core)");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
