#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "fuzz/investigate.h"
#include "fuzz/why.h"
#include "judge/nearness.h"
#include "ops/table.h"
#include "report/causes_text.h"
#include "report/nearness_text.h"

namespace ulpfuzz {
namespace {

struct Options {
  SystemOptions systems;
  std::string named;
  std::string store = "ulpfuzz-store";
  int seeds = 1;
  JudgingOptions judging;
  bool why = false;
  bool json = false;
};

void print(const Verdict& verdict, bool measures) {
  fmt::print("{}: {}\n", verdict.system, name(verdict.primary));
  for (const Fact& fact : verdict.facts) {
    fmt::print("  {} ({}, {}): {}\n", name(fact.kind), fact.rung, fact.strength, fact.detail);
  }
  if (verdict.measures.empty() || !measures) return;
  fmt::print("  {:<28} {:<9} {:>10} {:>10} {:>10} {:>9} {:>9}\n", "tensor", "rung", "max error",
             "RMS error", "eager RMS", "x legal", "x bound");
  for (const TensorMeasure& m : verdict.measures) {
    fmt::print("  {:<28} {:<9} {:>10.3g} {:>10.3g} {:>10.3g} {:>9.3g} {:>9.3g}\n", m.tensor, m.rung,
               m.max_error, m.rms_error, m.eager_rms_error, m.rms_ratio, m.bound_ratio);
  }
}

nlohmann::json json_of(const Nearness& n) {
  nlohmann::json systems = nlohmann::json::array();
  for (const Nearness::System& s : n.systems) {
    systems.push_back({{"system", s.name},
                       {"error", s.error},
                       {"to_eager", s.to_eager.value},
                       {"low", s.to_eager.low},
                       {"high", s.to_eager.high},
                       {"to_legal", s.to_legal},
                       {"freedom", name(s.freedom)}});
  }
  return {{"tensor", n.tensor},
          {"rung", n.rung},
          {"input_sets", n.sets},
          {"systems", std::move(systems)},
          {"nearest", n.nearest}};
}

void print_kernels(const Verdict& verdict) {
  for (const KernelTensorRow& row : verdict.kernels) {
    fmt::print("  {} {}, {}:\n", row.kernel, row.phase, row.tensor);
    const auto say = [](const std::string& s) { return s.empty() ? "did not run" : s; };
    if (row.differs()) {
      fmt::print("    eager {}\n    found {}\n", say(row.eager), say(row.system));
    } else {
      fmt::print("    {}\n", row.eager);
    }
  }
}

ExitStatus run(const Options& o) {
  JudgeOptions options = o.judging.of(o.systems.parsed());
  options.seeds = o.seeds;
  options.ladder = JudgeOptions::Ladder::kAlways;
  Scheduler scheduler(op_table(), o.systems.scheduler());
  const Case c =
      o.systems.placed(find_case(o.named, o.store, scheduler, o.systems.capture_fault()));
  const Judged judged = judge_cases({c}, options, op_table(), scheduler, Company::kStock).front();
  const std::vector<Nearness> near = nearness(judged.verdicts);
  std::vector<Causes> causes;
  if (o.why) {
    causes = find_causes(c, options.systems, judged.evidence, op_table(), scheduler);
  }
  if (o.json) {
    nlohmann::json systems = nlohmann::json::array();
    for (const Verdict& v : judged.verdicts) systems.push_back(nlohmann::json::parse(to_json(v)));
    nlohmann::json comparisons = nlohmann::json::array();
    for (const Nearness& n : near) comparisons.push_back(json_of(n));
    nlohmann::json object{
        {"case", hashes(c).whole}, {"systems", systems}, {"nearness", comparisons}};
    for (const Causes& one : causes)
      object["causes"].push_back(nlohmann::json::parse(to_json(one)));
    fmt::print("{}\n", object.dump());
  } else {
    // With several input sets their comparison says more than each one's measures.
    for (const Verdict& verdict : judged.verdicts) {
      print(verdict, near.empty());
      print_kernels(verdict);
    }
    fmt::print("{}", nearness_text(near, c));
    for (const Causes& one : causes) fmt::print("{}", causes_text(one, c));
  }
  return status_of(judged.verdicts);
}

}  // namespace

void add_judge(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("judge", "Hold every system, eager too, against exact arithmetic");
  command->add_option("CASE", o->named, "Case file, finding folder, or finding id")->required();
  command->add_option("--seeds", o->seeds, "Input sets")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  CLI::Option* no_values = o->judging.add_to(*command);
  command->add_flag("--why", o->why, "Also say why each system differs from eager (docs/causes.md)")
      ->excludes(no_values);
  command->add_option("--store", o->store, "Folder of the store")->capture_default_str();
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  o->systems.add_device_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
