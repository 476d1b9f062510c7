#include "calibration/trial.h"

#include "calibration/peers.h"
#include "ir/error.h"
#include "systems/kinds.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {

const SystemSpec kEager{"eager@py", {}, ""};

Trial trial(const TriedCase& tried, const Case& c, const SystemSpec& system) {
  Trial result;
  for (const Verdict& verdict : tried.judged.verdicts) {
    if (verdict.system == to_string(system)) result.verdict = verdict;
  }
  const Run* run = run_on_case(tried, c, system);
  const Run* eager = run_on_case(tried, c, eager_beside(system));
  for (const PeerJudge& peer : peer_judges()) {
    const bool seen = run != nullptr && eager != nullptr && run->has_values;
    result.peers.push_back(seen && peer_alarm(peer, *run, *eager, tried.exact));
  }
  return result;
}

}  // namespace

const Run* run_on_case(const TriedCase& tried, const Case& c, const SystemSpec& system) {
  const Case asked = asked_of(system, c);
  for (const Evidence& e : tried.judged.evidence) {
    if (e.request.system == system && e.request.test == asked) return &e.run;
  }
  return nullptr;
}

std::vector<TriedCase> try_cases(const std::vector<Case>& cases,
                                 const std::vector<JudgeOptions>& options, const OpTable& table,
                                 Scheduler& scheduler, Cost& cost) {
  const double own = own_cpu_seconds();
  const double of_systems = scheduler.usage().system_cpu_seconds;
  std::vector<Judged> judged = judge_cases(cases, options, table, scheduler);
  cost.judge_cpu_seconds += own_cpu_seconds() - own;
  cost.system_cpu_seconds += scheduler.usage().system_cpu_seconds - of_systems;

  const Oracle oracle(table);
  std::vector<TriedCase> result(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    TriedCase& tried = result[i];
    tried.judged = std::move(judged[i]);
    const Run* eager = run_on_case(tried, cases[i], kEager);
    tried.valid = !tried.judged.verdicts.empty() && eager != nullptr && eager->completed();
    if (!tried.valid) continue;
    ++cost.cases;
    cost.verdicts += static_cast<std::int64_t>(tried.judged.verdicts.size());
    tried.exact = oracle.exact(cases[i], 0);
    tried.eager = trial(tried, cases[i], kEager);
    for (const SystemSpec& system : options[i].systems) {
      tried.trials.push_back(trial(tried, cases[i], system));
    }
  }
  return result;
}

std::string where_of(const Case& c) {
  if (!c.model) return "op graphs";
  const auto dtype = c.model->fields.find("dtype");
  if (dtype == c.model->fields.end()) return "models";
  return std::get<std::string>(dtype->second) + " models";
}

}  // namespace ulpfuzz
