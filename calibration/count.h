#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calibration/trial.h"

namespace ulpfuzz {

// Counts ulpfuzz's findings and the peers' alarms over runs.
class JudgesCount {
 public:
  void add(const Trial& trial);
  std::vector<Alarms> alarms() const;  // ulpfuzz first

 private:
  std::vector<Tally> tallies_;
};

// Legal systems: what is said of one population.
class LegalCount {
 public:
  // All runs of one case.
  void add(const std::vector<const Trial*>& runs_of_case);
  void add(LegalResult::Alarm alarm) { alarms_.push_back(std::move(alarm)); }
  LegalResult result(std::string population, std::string where, bool synthetic) const;

 private:
  std::int64_t runs_ = 0;
  Tally cases_;
  std::map<VerdictKind, std::int64_t> verdicts_;
  JudgesCount judges_;
  std::vector<LegalResult::Alarm> alarms_;
};

// One fault in one system on one kind of program.
class FaultCount {
 public:
  // Found or not on the first input set: only cases with an effect.
  void add(const Trial& trial, bool large);
  void add_without_effect() { ++without_effect_; }
  // Of a case that was not found there: was it, within more?
  void add(FaultResult::Miss miss);
  FaultResult result(std::string fault, std::string system, std::string where) const;

 private:
  std::int64_t without_effect_ = 0, within_ = 0;
  Tally single_, large_;
  JudgesCount judges_;
  std::map<VerdictKind, std::int64_t> verdicts_;
  std::vector<FaultResult::Miss> misses_;
};

}  // namespace ulpfuzz
