#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibration/proportion.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "ir/verdict.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

struct CalibrateOptions {
  std::uint64_t seed = 0;
  int legal_cases = 250;      // generated cases, op graphs and model families
  int legal_executions = 20;  // synthetic executions of each, of either freedom set in turn
  int faulty_cases = 20;      // of each kind of fault that have a place for it
  int fault_seeds = 32;       // input sets of a faulty case that is not seen on the first
  int real_cases = 100;       // on each of `real_systems`, without a fault
  std::vector<SystemSpec> real_systems;
  std::string adjudicated;  // file of alarms that were looked into
  std::function<void(const std::string&)> progress;
  std::function<bool()> stopped;
};

// What one way of judging says of a population of runs.
struct Alarms {
  std::string judge;  // "ulpfuzz" or a peer's name
  Proportion alarms;  // runs of which it says wrong (of ulpfuzz: any finding)
};

// Legal systems: synthetic or real. A run is one execution of one case on one input set.
struct LegalResult {
  std::string population;  // "synthetic eager", "synthetic fusing", "inductor"
  std::int64_t runs = 0;
  std::map<VerdictKind, Proportion> verdicts;
  std::vector<Alarms> judges;
  // Of what was said against it: signature, file stem of the case, and the adjudication, "" while
  // nobody has looked.
  struct Alarm {
    std::string signature, case_hash, detail, adjudication;
  };
  std::vector<Alarm> alarms;
};

// One kind of planted fault at one strength.
struct FaultResult {
  std::string fault;                // "attn-scale=1.03"
  std::string where;                // "qwen2 bfloat16", "op graphs"
  std::int64_t cases = 0;           // that had a place for it
  std::int64_t without_effect = 0;  // of these, exact values do not change: left out below
  Proportion single;                // found on the first input set
  Proportion within;                // found within options.fault_seeds
  std::vector<Alarms> judges;       // on the first input set
  std::map<VerdictKind, std::int64_t> verdicts;
};

struct Calibration {
  std::string judge_model;
  std::vector<LegalResult> legal;
  std::vector<FaultResult> faults;
  double judge_cpu_seconds = 0;  // of this process, without systems
  double system_cpu_seconds = 0;
  std::int64_t judged = 0;  // cases
};

Calibration calibrate(const CalibrateOptions& options, const OpTable& table, Scheduler& scheduler);

}  // namespace ulpfuzz
