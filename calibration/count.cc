#include "calibration/count.h"

#include <algorithm>

#include "calibration/peers.h"

namespace ulpfuzz {

void JudgesCount::add(const Trial& trial) {
  tallies_.resize(1 + trial.peers.size());
  tallies_[0].add(trial.found());
  for (std::size_t i = 0; i < trial.peers.size(); ++i) tallies_[1 + i].add(trial.peers[i]);
}

std::vector<Alarms> JudgesCount::alarms() const {
  std::vector<Alarms> all;
  for (std::size_t i = 0; i < tallies_.size(); ++i) {
    const std::string_view judge = i == 0 ? "ulpfuzz" : peer_judges()[i - 1].name;
    all.push_back({std::string(judge), tallies_[i].rate()});
  }
  return all;
}

void LegalCount::add(const std::vector<const Trial*>& runs_of_case) {
  for (const Trial* trial : runs_of_case) {
    ++runs_;
    ++verdicts_[trial->verdict.primary];
    judges_.add(*trial);
  }
  cases_.add(std::ranges::any_of(runs_of_case, [](const Trial* t) { return t->found(); }));
}

LegalResult LegalCount::result(std::string population, std::string where, bool synthetic) const {
  LegalResult result;
  result.population = std::move(population);
  result.where = std::move(where);
  result.synthetic = synthetic;
  result.runs = runs_;
  result.cases = cases_.rate();
  for (const auto& [kind, count] : verdicts_) result.verdicts[kind] = proportion(count, runs_);
  // What a reader looks for stands there with its interval even if it was never said.
  for (const VerdictKind kind : {VerdictKind::kWrong, VerdictKind::kNanMismatch,
                                 VerdictKind::kLessAccurate, VerdictKind::kUndecided}) {
    result.verdicts.try_emplace(kind, proportion(0, runs_));
  }
  result.judges = judges_.alarms();
  result.alarms = alarms_;
  return result;
}

void FaultCount::add(const Trial& trial, bool large) {
  single_.add(trial.found());
  within_ += trial.found();
  if (large) large_.add(trial.found());
  judges_.add(trial);
  ++verdicts_[trial.verdict.primary];
}

void FaultCount::add(FaultResult::Miss miss) {
  within_ += miss.ever;
  misses_.push_back(std::move(miss));
}

FaultResult FaultCount::result(std::string fault, std::string system, std::string where) const {
  FaultResult result;
  result.fault = std::move(fault);
  result.system = std::move(system);
  result.where = std::move(where);
  result.cases = single_.of + without_effect_;
  result.without_effect = without_effect_;
  result.large = large_.rate();
  result.single = single_.rate();
  result.within = proportion(within_, single_.of);
  result.judges = judges_.alarms();
  result.verdicts = verdicts_;
  result.misses = misses_;
  return result;
}

}  // namespace ulpfuzz
