#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/command.h"
#include "cli/time.h"
#include "fuzz/campaign.h"
#include "fuzz/libfuzzer_campaign.h"
#include "generators/family.h"
#include "ir/error.h"
#include "judge/relation.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

struct Options {
  SystemOptions systems;
  std::string time;
  std::int64_t cases = 0;
  std::optional<std::uint64_t> seed;
  std::string only;
  std::string budget;
  std::string relations = "none";
  bool no_reduce = false;
  std::string store = "ulpfuzz-store";
  bool resume = false;
  bool kernels = false, operators = false, guided = false;
  std::string named;  // the case whose values are fuzzed
  std::string each;
  bool keep = false;
  bool json = false;
};

std::string counts_of(const std::map<std::string, std::int64_t>& verdicts) {
  std::string text;
  for (const auto& [kind, count] : verdicts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  }
  return text;
}

// One line that is rewritten on a terminal; a line now and then elsewhere.
class Progress {
 public:
  explicit Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

  void show(const CampaignStatus& s) {
    if (quiet_) return;
    const double rate = s.wall_seconds > 0 ? static_cast<double>(s.cases) / s.wall_seconds : 0;
    std::string line = fmt::format("{} cases  {:.1f}/s  {} findings", s.cases, rate, s.findings);
    if (s.seconds_left) line += "  " + duration(*s.seconds_left) + " left";
    line += s.doing.empty() ? "" : "  " + s.doing;
    if (terminal_) {
      fmt::print(stderr, "\r\033[K{}", line.substr(0, 110));
      std::fflush(stderr);
      open_line_ = true;
    } else if (s.wall_seconds >= next_) {
      fmt::print(stderr, "{}\n", line);
      next_ = s.wall_seconds + 10;
    }
  }
  void end() {
    if (open_line_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool quiet_, terminal_;
  bool open_line_ = false;
  double next_ = 0;
};

nlohmann::json to_json(const std::vector<Check>& checks) {
  nlohmann::json all = nlohmann::json::array();
  for (const Check& check : checks) {
    all.push_back({{"what", check.what},
                   {"outcome", std::string(name(check.outcome))},
                   {"required", check.required},
                   {"detail", check.detail}});
  }
  return all;
}

nlohmann::json to_json(const std::vector<CampaignFinding>& found) {
  nlohmann::json findings = nlohmann::json::array();
  for (const auto& [f, gate] : found) {
    findings.push_back({{"id", f.id},
                        {"verdict", std::string(name(f.signature.kind))},
                        {"system", f.signature.system},
                        {"detail", f.signature.detail},
                        {"reduced", f.reduced},
                        {"reportable", gate.yes},
                        {"checks", to_json(gate.checks)},
                        {"folder", f.folder.string()}});
  }
  return findings;
}

nlohmann::json to_json(const CampaignSummary& s) {
  nlohmann::json verdicts = nlohmann::json::object();
  for (const auto& [key, count] : s.verdicts) verdicts[key.second][key.first] = count;
  return {{"cases", s.cases},
          {"valid", s.valid},
          {"verdicts", verdicts},
          {"findings", to_json(s.findings)},
          {"statistics",
           {{"tests", s.errors.tests},
            {"claims", s.errors.claims},
            {"false_claims", s.errors.false_claims},
            {"false_discovery_rate", s.errors.false_discovery_rate}}},
          {"cpu_seconds", s.cpu_seconds},
          {"wall_seconds", s.wall_seconds},
          {"share_in_systems", s.share_in_systems},
          {"stopped", s.stopped}};
}

void print_findings(const std::vector<CampaignFinding>& findings) {
  fmt::print("{} finding{}\n", findings.size(), findings.size() == 1 ? "" : "s");
  for (const auto& [f, gate] : findings) {
    fmt::print("  {}  {}{}{}  {}\n", f.id, to_string(f.signature),
               f.reduced ? "" : "  (not fully reduced)", gate.yes ? "  (fit to be reported)" : "",
               (f.folder / "report.md").string());
  }
}

void print_summary(const CampaignSummary& s, std::uint64_t seed) {
  fmt::print(
      "{} cases in {} ({} valid), seed {}, {:.2f} cases per CPU second, {:.0f} % of the time in "
      "systems\n",
      s.cases, duration(s.wall_seconds), s.valid, seed,
      s.cpu_seconds > 0 ? static_cast<double>(s.cases) / s.cpu_seconds : 0,
      100 * s.share_in_systems);
  std::map<std::string, std::map<std::string, std::int64_t>> by_system;
  for (const auto& [key, count] : s.verdicts) by_system[key.second][key.first] = count;
  for (const auto& [system, counts] : by_system)
    fmt::print("  {}: {}\n", system, counts_of(counts));
  if (s.errors.tests > 0) {
    fmt::print(
        "{} statistical tests, {} claims; at most {:.2g} false ones expected (false discovery rate "
        "at most {:.2g})\n",
        s.errors.tests, s.errors.claims, s.errors.false_claims, s.errors.false_discovery_rate);
  }
  print_findings(s.findings);
}

std::string family_names() {
  std::string names;
  for (const Family& family : families()) {
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  }
  return names;
}

nlohmann::json to_json(const LibFuzzerCampaignSummary& s) {
  return {{"programs", s.programs},
          {"fuzzed", s.fuzzed},
          {"not_fuzzed", s.not_fuzzed},
          {"executions", s.executions},
          {"stopped_at", s.stopped_at},
          {"confirmed", s.confirmed},
          {"occurrences", s.occurrences},
          {"findings", to_json(s.findings)},
          {"fuzzing_cpu_seconds", s.fuzzing_cpu_seconds},
          {"cpu_seconds", s.cpu_seconds},
          {"wall_seconds", s.wall_seconds},
          {"stopped", s.stopped}};
}

void print_summary(const LibFuzzerCampaignSummary& s, const LibFuzzerCampaignOptions& o) {
  using Target = LibFuzzerCampaignOptions::Target;
  const char* const what = o.target == Target::kKernels     ? "programs in {}, kernels of {} fuzzed"
                           : o.target == Target::kOperators ? "operators in {}, {} fuzzed"
                                                            : "rounds in {}, {} fuzzed";
  fmt::print("{} {}, seed {}, {} executions in {} of CPU time\n", s.programs,
             fmt::format(fmt::runtime(what), duration(s.wall_seconds), s.fuzzed), o.seed,
             s.executions, duration(s.fuzzing_cpu_seconds));
  for (const auto& [why, count] : s.not_fuzzed) {
    fmt::print("  not fuzzed, {}: {}\n", count, why.substr(0, why.find('\n')));
  }
  fmt::print("libFuzzer stopped at {}; stock {} shows {} of them\n", s.stopped_at,
             to_string(o.system), s.confirmed);
  print_findings(s.findings);
}

ExitStatus run_libfuzzer(const Options& o) {
  LibFuzzerCampaignOptions campaign;
  if (!o.time.empty()) campaign.seconds = parse_time("--time", o.time);
  if (o.cases > 0) campaign.programs = o.cases;
  campaign.seconds_each = parse_time("--each", !o.each.empty() ? o.each : o.guided ? "2m" : "30s");
  campaign.seed = o.seed ? *o.seed : std::random_device{}();
  const std::vector<SystemSpec> systems = o.systems.parsed();
  if (systems.size() != 1) throw Error("--systems", "a fuzzer takes one");
  campaign.system = systems.front();
  if (o.guided) campaign.target = LibFuzzerCampaignOptions::Target::kCases;
  if (o.operators) {
    campaign.target = LibFuzzerCampaignOptions::Target::kOperators;
    if (!o.systems.given()) campaign.system = {"eager@py", {}, ""};
  }
  campaign.scheduler = o.systems.scheduler();
  campaign.store = o.store;
  campaign.only = o.only;
  campaign.keep = o.keep;
  if (o.no_reduce) campaign.reduction_cpu_seconds = 0;
  if (!o.budget.empty()) campaign.reduction_cpu_seconds = parse_time("--budget", o.budget);
  if (!o.named.empty()) {
    Scheduler scheduler(op_table(), campaign.scheduler);
    campaign.test = find_case(o.named, o.store, scheduler);
  }
  Progress progress(o.json);
  const LibFuzzerCampaignSummary summary = run_libfuzzer_campaign(
      campaign, op_table(), stop_requested(), [&](const CampaignStatus& s) { progress.show(s); });
  progress.end();
  if (o.json) {
    fmt::print("{}\n", to_json(summary).dump());
  } else {
    print_summary(summary, campaign);
  }
  return summary.occurrences == 0 ? kNothingFound : kFound;
}

ExitStatus run(const Options& o) {
  if (o.kernels || o.operators || o.guided) return run_libfuzzer(o);
  CampaignOptions campaign;
  if (!o.time.empty()) campaign.seconds = parse_time("--time", o.time);
  if (o.cases > 0) campaign.cases = o.cases;
  campaign.seed = o.seed ? *o.seed : std::random_device{}();
  campaign.systems = o.systems.parsed();
  campaign.scheduler = o.systems.scheduler();
  campaign.store = o.store;
  campaign.resume = o.resume;
  campaign.profile.only = o.only;
  campaign.relations = chosen_relations(o.relations);
  if (o.no_reduce) campaign.reduction_cpu_seconds = 0;
  if (!o.budget.empty()) campaign.reduction_cpu_seconds = parse_time("--budget", o.budget);
  Progress progress(o.json);
  const CampaignSummary summary = run_campaign(campaign, op_table(), stop_requested(),
                                               [&](const CampaignStatus& s) { progress.show(s); });
  progress.end();
  if (o.json) {
    fmt::print("{}\n", to_json(summary).dump());
  } else {
    print_summary(summary, campaign.seed);
  }
  return summary.findings.empty() ? kNothingFound : kFound;
}

}  // namespace

void add_fuzz(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("fuzz", "Generate cases, run, judge, reduce and store");
  command->add_option("--time", o->time, "How long: 120s, 10m, 8h (default: until Ctrl-C)");
  command->add_option("--cases", o->cases, "How many cases");
  command->add_option("--seed", o->seed, "Same seed, same cases (default: random, printed)");
  command->add_option(
      "--only", o->only,
      "One family of models (" + family_names() +
          "), modules (transformers, litgpt.GPT), or operators with this in their name");
  command->add_option("--budget", o->budget, "CPU time for reducing one finding (default: 2m)");
  command
      ->add_option("--relations", o->relations,
                   "Relations to hold: names, all, cheap or none (docs/relations.md)")
      ->capture_default_str();
  command->add_flag("--no-reduce", o->no_reduce, "Store findings as they are");
  command->add_option("--store", o->store, "Folder of the store")->capture_default_str();
  CLI::Option_group* fuzzers =
      command->add_option_group("libFuzzer", "In place of random cases (docs/libfuzzer.md)");
  fuzzers->add_flag("--kernels", o->kernels, "Fuzz the values of kernels that Inductor generates");
  fuzzers->add_flag("--operators", o->operators, "Fuzz the values of ATen's operators in process");
  fuzzers->add_flag("--guided", o->guided,
                    "Mutate and cross cases, kept by what the compiler did with them");
  fuzzers->require_option(0, 1);
  command->add_option("--each", o->each,
                      "With these: how long to fuzz a program (30s), or a round of --guided (2m)");
  command->add_option("--case", o->named, "With --kernels and --operators: this case alone");
  command->add_flag("--keep", o->keep, "With these: keep the folder of every program");
  command->add_flag("--resume", o->resume, "Go on with the store's last campaign")
      ->excludes("--kernels")
      ->excludes("--operators")
      ->excludes("--guided");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
