#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibration/count.h"
#include "calibration/parts.h"
#include "calibration/plan.h"
#include "calibration/trial.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kBatch = 32;

const char* name_of(const Adjudication& adjudication) {
  return adjudication.real ? "real" : "false";
}

// What an alarm is, and what a person said of it: of this very case, or of what it reduces to.
class Inquiry {
 public:
  Inquiry(const CalibrateOptions& options, const Adjudications& adjudications,
          const JudgeOptions& judge, const OpTable& table, Scheduler& scheduler)
      : options_(options),
        adjudications_(adjudications),
        judge_(judge),
        table_(table),
        scheduler_(scheduler) {}

  LegalResult::Alarm look(const Case& c, const Verdict& verdict) const {
    AlarmKey key{signature(verdict), place_of(verdict), hashes(c).whole, {}};
    LegalResult::Alarm alarm{to_string(key.signature), key.case_hash, key.place, "", "", {}};
    describe(verdict, alarm);
    keep(options_, c);
    if (const Adjudication* known = adjudications_.find(key)) {
      alarm.adjudication = name_of(*known);
      return alarm;
    }
    tell(options_, "reducing " + alarm.signature);
    InvestigateOptions how;
    how.cpu_budget_seconds = options_.reduction_cpu_seconds;
    how.stopped = options_.stopped;
    const std::optional<Finding> finding = investigate(c, verdict, judge_, table_, scheduler_, how);
    // Without a fixpoint the operators that are left are those of the generator.
    if (!finding || !finding->reduced) return alarm;
    key.place = place_of(finding->verdict);
    key.operators = operators_of(finding->minimal.program);
    alarm.place = key.place;
    alarm.operators = {key.operators.begin(), key.operators.end()};
    describe(finding->verdict, alarm);
    keep(options_, finding->minimal);
    if (const Adjudication* known = adjudications_.find(key)) alarm.adjudication = name_of(*known);
    return alarm;
  }

 private:
  static void describe(const Verdict& verdict, LegalResult::Alarm& alarm) {
    for (const Fact& fact : verdict.facts) {
      if (fact.kind != verdict.primary) continue;
      alarm.detail = fact.detail;
      return;
    }
  }

  const CalibrateOptions& options_;
  const Adjudications& adjudications_;
  const JudgeOptions& judge_;
  const OpTable& table_;
  Scheduler& scheduler_;
};

}  // namespace

std::vector<LegalResult> calibrate_real(const CalibrateOptions& options,
                                        const Adjudications& adjudications, const OpTable& table,
                                        Scheduler& scheduler, Cost& cost) {
  const std::vector<Case> cases = clean_cases(stream(options, "real"), options.real_cases, table);
  JudgeOptions judge;
  judge.systems = options.real_systems;
  judge.relations = options.relations;
  const Inquiry inquiry(options, adjudications, judge, table, scheduler);
  std::map<std::pair<std::string, std::string>, LegalCount> counts;
  for (std::size_t at = 0; at < cases.size() && !stopped(options); at += kBatch) {
    const std::size_t end = std::min(cases.size(), at + kBatch);
    tell(options, fmt::format("real systems: case {} of {}", at, cases.size()));
    const std::vector<Case> batch(cases.begin() + static_cast<std::ptrdiff_t>(at),
                                  cases.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<TriedCase> tried =
        try_cases(batch, std::vector(batch.size(), judge), table, scheduler, cost);
    for (std::size_t i = 0; i < batch.size() && !stopped(options); ++i) {
      if (!tried[i].valid) continue;
      std::vector<const Trial*> trials{&tried[i].eager};
      for (const Trial& trial : tried[i].trials) trials.push_back(&trial);
      for (const Trial* trial : trials) {
        LegalCount& count = counts[{trial->verdict.system, where_of(batch[i])}];
        count.add({trial});
        if (trial->found()) count.add(inquiry.look(batch[i], trial->verdict));
      }
    }
  }
  std::vector<LegalResult> results;
  for (const auto& [key, count] : counts) {
    results.push_back(count.result(key.first, key.second, false));
  }
  return results;
}

}  // namespace ulpfuzz
