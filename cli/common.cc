#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "cli/command.h"
#include "cli/time.h"
#include "fuzz/store.h"
#include "generators/family.h"
#include "importers/source.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "judge/relation.h"
#include "kernels/artifact.h"
#include "ops/table.h"
#include "systems/capture.h"
#include "systems/fault.h"

namespace ulpfuzz {
namespace {

std::atomic<bool> stop_flag{false};

// A second Ctrl-C ends the process at once; the store stays whole whenever that happens.
void on_signal(int signal) {
  stop_flag = true;
  std::signal(signal, SIG_DFL);
}

// A file that is no case yet becomes one as `import` makes it without options.
Case read_or_import(const std::string& path, Scheduler& scheduler) {
  if (!is_source(path)) return read_case(path);
  Imported imported = import_source(path, {}, scheduler);
  for (const std::string& note : imported.notes) fmt::print(stderr, "{}: {}\n", path, note);
  return std::move(imported.test);
}

}  // namespace

void SystemOptions::add_to(CLI::App& command) {
  option_ =
      command
          .add_option("--systems", systems,
                      "Systems to judge beside eager, comma-separated: inductor, eager@cpp, ...")
          ->capture_default_str();
  command.add_option("--fault", fault,
                     "Plant a fault into the last system named (for tests), e.g. attn-scale=1.03");
  command.add_option("--jobs", jobs, "Workers at the same time (default: one a core)");
  command
      .add_option(
          "--cpu-limit", cpu_limit,
          "CPU time of one case, compilation included; a hang is confirmed at four times that")
      ->capture_default_str();
}

void SystemOptions::add_device_to(CLI::App& command) {
  command.add_option("--device", device, "Run on this device instead of the case's own")
      ->check(CLI::IsMember({"cpu", "cuda"}));
}

Case SystemOptions::placed(Case c) const {
  if (!device.empty()) c.environment.device = device;
  return c;
}

std::vector<SystemSpec> SystemOptions::parsed() const {
  std::vector<SystemSpec> result = parse_systems(systems);
  if (result.empty()) throw Error("--systems", "names no system");
  const auto kinds = system_kinds();
  for (const SystemSpec& system : result) {
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const SystemKind& kind) {
      return kind.name == system.name;
    });
    if (known) continue;
    std::string names;
    for (const SystemKind& kind : kinds)
      names += (names.empty() ? "" : ", ") + std::string(kind.name);
    throw Error("--systems", fmt::format("no system '{}'; there are {}", system.name, names));
  }
  if (!fault.empty() && !is_capture_fault(fault)) result.back().options["fault"] = fault;
  return result;
}

std::string SystemOptions::capture_fault() const {
  if (!is_capture_fault(fault)) return "";
  fault_kind(fault);  // there must be such a fault
  return fault;
}

SchedulerOptions SystemOptions::scheduler() const {
  SchedulerOptions options;
  options.jobs = jobs;
  options.limits.cpu_seconds = parse_time("--cpu-limit", cpu_limit);
  return options;
}

CLI::Option* JudgingOptions::add_to(CLI::App& command) {
  command
      .add_option("--relations", relations,
                  "Relations to hold: names, all, cheap or none (docs/relations.md)")
      ->capture_default_str();
  return command.add_flag(
      "--no-values", no_values,
      "Judge endings, layouts, kernels and relations alone: for cases too large "
      "to evaluate");
}

JudgeOptions JudgingOptions::of(std::vector<SystemSpec> judged) const {
  JudgeOptions options;
  options.systems = std::move(judged);
  options.values = options.confirm = !no_values;
  options.relations = chosen_relations(relations);
  return options;
}

Case find_case(const std::string& named, const std::filesystem::path& store, Scheduler& scheduler,
               const std::string& capture_fault) {
  if (is_artifact(named)) return case_of_artifact(named);
  namespace fs = std::filesystem;
  fs::path path = named;
  if (!fs::exists(path)) path = store / "findings" / named;
  if (!fs::exists(path)) {
    throw Error(named, "no such case file, finding folder, or finding in " + store.string());
  }
  if (fs::is_directory(path)) {
    path = fs::exists(path / "minimal.json") ? path / "minimal.json" : path / "case.json";
  }
  const Case c = capture(lower(read_or_import(path.string(), scheduler)), scheduler, capture_fault);
  verify(c, op_table(), path.string());
  return c;
}

ExitStatus status_of(const std::vector<Verdict>& verdicts) {
  const auto any = [&](auto predicate) {
    return std::any_of(verdicts.begin(), verdicts.end(), predicate);
  };
  if (any([](const Verdict& v) { return is_finding(v.primary); })) return kFound;
  if (any([](const Verdict& v) { return v.primary == VerdictKind::kUndecided; })) {
    return kUndecidedResult;
  }
  return kNothingFound;
}

const std::atomic<bool>& stop_requested() {
  static const bool installed = [] {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    return true;
  }();
  (void)installed;
  return stop_flag;
}

}  // namespace ulpfuzz
