#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibration/count.h"
#include "calibration/parts.h"
#include "calibration/plan.h"
#include "calibration/trial.h"
#include "ir/hash.h"

namespace ulpfuzz {
namespace {

// Cases that are judged together. More would share more forks of the host; their runs are in memory
// all at once, a model's gradients a hundred times.
constexpr std::size_t kBatch = 12;

constexpr const char* kFreedoms[] = {"eager", "fusing"};

SystemSpec synthetic(const std::string& freedom, int seed) {
  return {"synthetic@py", {{"freedom", freedom}, {"seed", std::to_string(seed)}}, ""};
}

LegalResult::Alarm alarm_of(const Trial& trial, const Case& c) {
  LegalResult::Alarm alarm;
  alarm.signature = to_string(signature(trial.verdict));
  alarm.case_hash = hashes(c).whole;
  alarm.place = place_of(trial.verdict);
  for (const Fact& fact : trial.verdict.facts) {
    if (fact.kind != trial.verdict.primary) continue;
    alarm.detail = fact.detail;
    break;
  }
  return alarm;
}

}  // namespace

// Every execution of a case is a system of its own to the judge (a seed is an option of the spec),
// and all of them are systems of one JudgeOptions: so one Judge evaluates the case exactly, and
// draws legal executions for either freedom set, once for all of them. The requests of one seed on
// different cases share a pack, hence a process. What remains for each execution is running it (six
// times: the first input set twice, and four fresh ones) and comparing.
std::vector<LegalResult> calibrate_legal(const CalibrateOptions& options, const OpTable& table,
                                         Scheduler& scheduler, Cost& cost) {
  const std::vector<Case> cases = clean_cases(stream(options, "legal"), options.legal_cases, table);
  JudgeOptions judge;
  judge.profile = false;  // which kernel a synthetic system calls is its own affair
  for (int i = 0; i < options.legal_executions; ++i) {
    judge.systems.push_back(synthetic(kFreedoms[i % 2], i / 2));
  }
  std::map<std::pair<std::string, std::string>, LegalCount> counts;
  for (std::size_t at = 0; at < cases.size() && !stopped(options); at += kBatch) {
    const std::size_t end = std::min(cases.size(), at + kBatch);
    tell(options, fmt::format("legal executions: case {} of {}", at, cases.size()));
    const std::vector<Case> batch(cases.begin() + static_cast<std::ptrdiff_t>(at),
                                  cases.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<TriedCase> tried =
        try_cases(batch, std::vector(batch.size(), judge), table, scheduler, cost);
    if (stopped(options)) break;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!tried[i].valid) continue;
      for (const std::string freedom : kFreedoms) {
        LegalCount& count = counts[{"synthetic " + freedom, where_of(batch[i])}];
        std::vector<const Trial*> runs;
        for (std::size_t s = 0; s < judge.systems.size(); ++s) {
          if (judge.systems[s].options.at("freedom") != freedom) continue;
          const Trial& trial = tried[i].trials[s];
          runs.push_back(&trial);
          if (!trial.found()) continue;
          count.add(alarm_of(trial, batch[i]));
          keep(options, batch[i]);
        }
        if (!runs.empty()) count.add(runs);
      }
    }
  }
  std::vector<LegalResult> results;
  for (const auto& [key, count] : counts) {
    results.push_back(count.result(key.first, key.second, true));
  }
  return results;
}

}  // namespace ulpfuzz
