#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "calibration/count.h"
#include "calibration/effect.h"
#include "calibration/parts.h"
#include "calibration/plan.h"
#include "calibration/trial.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "systems/fault.h"

namespace ulpfuzz {
namespace {

// Cases that are judged together, so that runs share forks of the host and compilations.
constexpr std::size_t kBatch = 8;

constexpr std::string_view kEager = "eager@py", kCompiler = "inductor";

SystemSpec with_fault(std::string_view system, const std::string& fault) {
  return {std::string(system), {{"fault", fault}}, ""};
}
const std::string& fault_of(const SystemSpec& system) { return system.options.at("fault"); }

// What the judge is asked about one case: every fault that the case has a place for is a system of
// its own, so that exact values and legal executions are shared; a compiler without a fault stands
// beside those that have one.
JudgeOptions question(const FaultyCase& faulty, bool of_kernels) {
  JudgeOptions judge;
  judge.profile = of_kernels;
  for (const std::string& fault : faulty.faults) judge.systems.push_back(with_fault(kEager, fault));
  if (!faulty.compiled.empty()) judge.systems.push_back({std::string(kCompiler), {}, ""});
  for (const std::string& fault : faulty.compiled) {
    judge.systems.push_back(with_fault(kCompiler, fault));
  }
  return judge;
}

class Faults {
 public:
  Faults(const CalibrateOptions& options, const OpTable& table, Scheduler& scheduler, Cost& cost)
      : options_(options), table_(table), oracle_(table), scheduler_(scheduler), cost_(cost) {}

  void look(const std::string& where, const std::vector<FaultyCase>& batch, bool of_kernels) {
    std::vector<Case> cases;
    std::vector<JudgeOptions> judges;
    for (const FaultyCase& faulty : batch) {
      cases.push_back(faulty.test);
      judges.push_back(question(faulty, of_kernels));
    }
    const std::vector<TriedCase> tried = try_cases(cases, judges, table_, scheduler_, cost_);
    if (stopped(options_)) return;
    std::vector<Missed> missed;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      // A finding against eager itself says that the reference is in doubt here.
      if (!tried[i].valid || tried[i].eager.found()) continue;
      for (std::size_t s = 0; s < judges[i].systems.size(); ++s) {
        count(where, cases[i], tried[i], judges[i].systems[s], tried[i].trials[s], missed);
      }
    }
    look_again(where, missed, of_kernels);
  }

  // In the order of the plan.
  std::vector<FaultResult> results(const std::vector<PlannedFault>& faults) const {
    std::vector<FaultResult> all;
    for (const PlannedFault& planned : faults) {
      for (const std::string_view system : {kEager, kCompiler}) {
        for (const std::string& where : kinds_of_programs()) {
          const auto it = counts_.find({planned.fault, std::string(system), where});
          if (it == counts_.end()) continue;
          all.push_back(it->second.result(planned.fault, std::string(system), where));
          all.back().effect = name(planned.effect);
        }
      }
    }
    return all;
  }

 private:
  // A fault that one input set did not show.
  struct Missed {
    Case test;
    SystemSpec system;
    Effect effect;
  };

  FaultCount& count_of(const SystemSpec& system, const std::string& where) {
    return counts_[{fault_of(system), system.name, where}];
  }

  void count(const std::string& where, const Case& c, const TriedCase& tried,
             const SystemSpec& system, const Trial& trial, std::vector<Missed>& missed) {
    if (!system.options.contains("fault")) return;
    const SystemSpec clean_system{system.name, {}, ""};
    const Run* run = run_on_case(tried, c, system);
    const Run* clean = run_on_case(tried, c, clean_system);
    if (run == nullptr || clean == nullptr || !clean->completed()) return;
    if (system.name != kEager && judged_a_finding(tried, clean_system)) return;
    FaultCount& count = count_of(system, where);
    const std::optional<Exact> planted = exact_with(fault_of(system), c);
    const Effect effect =
        effect_of(tried.exact, planted ? &*planted : nullptr, *clean, *run, tried.eager.verdict);
    if (!effect.any) return count.add_without_effect();
    count.add(trial, effect.large());
    if (!trial.found()) missed.push_back({c, system, effect});
  }

  static bool judged_a_finding(const TriedCase& tried, const SystemSpec& system) {
    return std::ranges::any_of(tried.trials, [&](const Trial& t) {
      return t.verdict.system == to_string(system) && t.found();
    });
  }

  // Exact values of the program that the fault makes of this one; none for a fault of the worker.
  std::optional<Exact> exact_with(const std::string& fault, const Case& c) const {
    if (!fault_kind(fault).in_program) return std::nullopt;
    bool planted = false;
    try {
      return oracle_.exact(plant(c, fault, table_, planted), 0);
    } catch (const Error&) {
      return std::nullopt;  // a program without exact values: only its runs can be looked at
    }
  }

  // As `judge --seeds` does: the whole ladder, many input sets.
  void look_again(const std::string& where, const std::vector<Missed>& missed, bool of_kernels) {
    std::vector<Case> cases;
    std::vector<JudgeOptions> judges;
    for (const Missed& miss : missed) {
      JudgeOptions judge;
      judge.systems = {miss.system};
      judge.seeds = options_.fault_seeds;
      judge.profile = of_kernels;
      judge.ladder = JudgeOptions::Ladder::kAlways;
      cases.push_back(miss.test);
      judges.push_back(judge);
      keep(options_, miss.test);
    }
    std::vector<TriedCase> tried(cases.size());
    if (options_.fault_seeds > 1 && !cases.empty()) {
      tell(options_, fmt::format("{}: {} faults on {} input sets", where, cases.size(),
                                 options_.fault_seeds));
      tried = try_cases(cases, judges, table_, scheduler_, cost_);
    }
    for (std::size_t i = 0; i < missed.size(); ++i) {
      FaultResult::Miss miss;
      miss.case_hash = hashes(missed[i].test).whole;
      miss.effect = missed[i].effect.relative;
      miss.large = missed[i].effect.large();
      miss.ever = !tried[i].trials.empty() && tried[i].trials.front().found();
      count_of(missed[i].system, where).add(std::move(miss));
    }
  }

  const CalibrateOptions& options_;
  const OpTable& table_;
  const Oracle oracle_;
  Scheduler& scheduler_;
  Cost& cost_;
  std::map<std::tuple<std::string, std::string, std::string>, FaultCount> counts_;
};

}  // namespace

std::vector<FaultResult> calibrate_faults(const CalibrateOptions& options,
                                          const std::vector<PlannedFault>& faults,
                                          const OpTable& table, Scheduler& scheduler, Cost& cost) {
  Faults all(options, table, scheduler, cost);
  for (const bool of_kernels : {false, true}) {
    std::vector<PlannedFault> some = faults;
    std::erase_if(some, [&](const PlannedFault& f) { return f.of_kernels != of_kernels; });
    for (const std::string& where : kinds_of_programs()) {
      tell(options, "planting faults in " + where);
      const std::vector<FaultyCase> cases = faulty_cases(where, some, options, table);
      for (std::size_t at = 0; at < cases.size() && !stopped(options); at += kBatch) {
        tell(options, fmt::format("faults in {}: case {} of {}", where, at, cases.size()));
        const std::size_t end = std::min(cases.size(), at + kBatch);
        all.look(where,
                 {cases.begin() + static_cast<std::ptrdiff_t>(at),
                  cases.begin() + static_cast<std::ptrdiff_t>(end)},
                 of_kernels);
      }
    }
  }
  return all.results(faults);
}

}  // namespace ulpfuzz
