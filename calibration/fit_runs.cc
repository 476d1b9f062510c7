#include <fmt/format.h>

#include "calibration/fit.h"
#include "calibration/parts.h"
#include "calibration/trial.h"
#include "fuzz/investigate.h"
#include "generators/generate.h"
#include "ir/hash.h"
#include "systems/kinds.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kBatch = 16;
constexpr int kSets = 8;  // input sets of a case

// Models in half of the cases: they have most of the tensors, and the deepest.
std::vector<Case> fit_cases(std::uint64_t seed, int count, const OpTable& table) {
  Profile profile;
  profile.model_share = 0.5;
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    cases.push_back(generate_case(seed, static_cast<std::uint64_t>(i), table, profile));
  }
  return cases;
}

}  // namespace

std::vector<FitSample> fit_samples(const CalibrateOptions& options, const OpTable& table,
                                   Scheduler& scheduler, Cost& cost) {
  const std::vector<Case> cases = fit_cases(stream(options, "fit"), options.real_cases, table);
  JudgeOptions judge;
  judge.systems = options.real_systems;
  for (const char* freedom : {"eager", "fusing"}) {
    judge.systems.push_back({"synthetic@py", {{"freedom", freedom}}, ""});
  }
  judge.seeds = kSets;
  judge.confirm = judge.profile = false;  // what is fitted is what claims are made with
  judge.ladder = JudgeOptions::Ladder::kAlways;
  std::vector<FitSample> samples;
  for (std::size_t at = 0; at < cases.size() && !stopped(options); at += kBatch) {
    const std::size_t end = std::min(cases.size(), at + kBatch);
    tell(options, fmt::format("fit: case {} of {}", at, cases.size()));
    const std::vector<Case> batch(cases.begin() + static_cast<std::ptrdiff_t>(at),
                                  cases.begin() + static_cast<std::ptrdiff_t>(end));
    const double own = own_cpu_seconds();
    const double of_systems = scheduler.usage().system_cpu_seconds;
    const std::vector<Judged> judged = judge_cases(batch, judge, table, scheduler);
    cost.judge_cpu_seconds += own_cpu_seconds() - own;
    cost.system_cpu_seconds += scheduler.usage().system_cpu_seconds - of_systems;
    for (std::size_t i = 0; i < batch.size() && !stopped(options); ++i) {
      // A finding against eager says that the reference is in doubt here.
      const std::vector<Verdict>& verdicts = judged[i].verdicts;
      if (verdicts.empty() || is_finding(verdicts.front().primary)) continue;
      ++cost.cases;
      cost.verdicts += static_cast<std::int64_t>(verdicts.size());
      for (const Verdict& verdict : verdicts) {
        const SystemSpec system = parse_system(verdict.system);
        add_samples(verdict, freedom_of(system).name, hashes(batch[i]).whole.substr(0, 12),
                    samples);
      }
    }
  }
  return samples;
}

}  // namespace ulpfuzz
