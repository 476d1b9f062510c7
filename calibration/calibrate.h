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
  std::string
      only;  // "legal", "real", "faults", "fit", or a fault ("attn-scale", "attn-scale=1.03")
  int legal_cases = 300;          // generated cases, op graphs and model families
  int legal_executions = 20;      // synthetic executions of each, of either freedom set in turn
  int real_cases = 100;           // on each of `real_systems`, without a fault; of the fit too
  int faulty_cases = 8;           // of each fault and kind of program, that have a place for it
  int compiled_faulty_cases = 2;  // of these, on a compiler too
  int fault_seeds = 32;  // input sets of a faulty case that is not found on the first; 1: no more
  std::vector<SystemSpec> real_systems;
  std::vector<std::string> relations = {};  // held of real systems (JudgeOptions::relations)
  std::string adjudicated;                  // file of alarms that were looked into; "": none was
  double reduction_cpu_seconds = 60;        // of systems, for one alarm
  std::string cases_folder;                 // alarms and misses are written there; "": nowhere
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
  std::string where;       // "op graphs", "bfloat16 models"
  bool synthetic = false;
  std::int64_t runs = 0;
  // Runs of one case are alike, so the interval of a rate over runs is too narrow; this one, over
  // cases, is not: those with at least one finding.
  Proportion cases;
  std::map<VerdictKind, Proportion> verdicts;  // every kind that was given, and the findings named
                                               // in `requirements`
  std::vector<Alarms> judges;
  // Of what was said against it: signature, hash of the case, and the adjudication ("real",
  // "false"; "" while nobody has looked).
  struct Alarm {
    std::string signature, case_hash, place, detail, adjudication;
    std::vector<std::string> operators;  // of the reduced program; empty: not reduced
  };
  std::vector<Alarm> alarms;
};

// One planted fault at one strength.
struct FaultResult {
  std::string fault;                // "attn-scale=1.03"
  std::string effect;               // of the kind, as systems/fault.h has it: "semantic", "small"
  std::string system;               // that it was planted into: "eager@py", "inductor"
  std::string where;                // "bfloat16 models", "op graphs"
  std::int64_t cases = 0;           // that had a place for it, and are judged clean without it
  std::int64_t without_effect = 0;  // of these (effect.h): left out below
  Proportion large;                 // of those with a large effect: found on the first input set
  Proportion single;                // of all: found on the first input set
  Proportion within;                // found within options.fault_seeds
  std::vector<Alarms> judges;       // on the first input set
  std::map<VerdictKind, std::int64_t> verdicts;  // on the first input set
  struct Miss {
    std::string case_hash;
    double effect = 0;  // Effect::relative
    bool ever = false;  // found within options.fault_seeds
    bool large = false;
  };
  std::vector<Miss> misses;  // on the first input set
};

// Correct systems against the legal executions that model them (fit.h), tensor by tensor: of the
// mean of a statistic over input sets.
struct FitResult {
  std::string rung;       // "half", "float32"
  std::string statistic;  // "element", "drift", "scale"
  std::int64_t tensors = 0;
  double mean = 0, median = 0, high = 0, largest = 0;  // high: the 99 % quantile
  double margin = 0;  // upper 95 % confidence limit of the 99.8 % quantile
  double misfit = 0;  // likewise of the standard deviation that legal executions do not show
  double allowed_margin = 0, allowed_misfit = 0;  // what judge/model.h has
  Proportion beyond;                              // tensors beyond the margin there
};

// What the judge costs in one part of a calibration.
struct Cost {
  std::string part;
  std::int64_t cases = 0;        // judged
  std::int64_t verdicts = 0;     // of systems on them, eager's own included
  double judge_cpu_seconds = 0;  // of this process: exact values, legal executions, comparisons
  double system_cpu_seconds = 0;
};

// Something that must hold of the judge; how it was seen.
struct Requirement {
  std::string what;
  bool holds = false;
  std::string seen;
};

struct Calibration {
  std::string judge_model;
  std::vector<LegalResult> legal;
  std::vector<FitResult> fit;
  std::string fit_csv;  // its samples (fit.h)
  std::vector<FaultResult> faults;
  int fault_seeds = 1;  // as in the options
  std::vector<Cost> costs;
  bool stopped = false;
};

// Throws Error for options that name nothing, and for a file of adjudications that is not one.
Calibration calibrate(const CalibrateOptions& options, const OpTable& table, Scheduler& scheduler);

// requirements.cc: all that applies to what was measured.
std::vector<Requirement> requirements(const Calibration& calibration);

// tables.cc: Markdown, for people and docs/.
std::string tables(const Calibration& calibration);

// json.cc: one object, docs/cli.md.
std::string to_json(const Calibration& calibration);

}  // namespace ulpfuzz
