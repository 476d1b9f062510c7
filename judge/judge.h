#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "ir/verdict.h"
#include "oracle/oracle.h"

namespace ulpfuzz {

struct JudgeOptions {
  std::vector<SystemSpec> systems;  // those to judge; eager@py of their environments runs beside
  int seeds = 1;                    // input sets
  // The precision ladder: also judge the same case in float32 (and float64), with the same numbers
  // as inputs. kAuto climbs when the lower rung leaves a doubt.
  enum class Ladder : std::uint8_t { kNone, kAuto, kAlways };
  Ladder ladder = Ladder::kAuto;
  // Look at fresh input sets where a first look raises a suspicion (less-accurate). Without it that
  // verdict is never given.
  bool confirm = true;
  bool profile = true;  // attest attention kernels where the case has attention
  // Hold values against exact ones. Without it only how runs end, layouts, kernels and
  // repeatability are judged: for cases too large for exact arithmetic.
  bool values = true;
  // Relations to hold beside those that need no run of their own (judge/relation.h). Those that
  // compare two results by their spread say something only where no exact value does.
  std::vector<std::string> relations = {};
};

// A run that was asked for and what it gave.
struct Evidence {
  RunRequest request;
  Run run;
};

// Eager mode beside a system: of the same environment, for a torch is held against its own.
SystemSpec eager_beside(const SystemSpec& system);

// From evidence to verdicts. Pure: the same case, options and evidence give the same answer. What
// was evaluated exactly is remembered from step to step, so one Judge serves one thread.
//
//     Judge judge(case, options, table);
//     while (!(step = judge.next(evidence)).requests.empty()) evidence +=
//     scheduler.run(step.requests); step.verdicts
class Judge {
 public:
  Judge(const Case& lowered, JudgeOptions options, const OpTable& table);

  struct Step {
    std::vector<RunRequest> requests;  // runs still needed; empty: `verdicts` is final
    std::vector<Verdict> verdicts;     // one for each system, eager (of each environment) first
  };
  Step next(const std::vector<Evidence>& evidence) const;

  // Hash of the constants and the version of the method: part of every cache key.
  static std::string model_hash();

 private:
  class Ladder;
  JudgeOptions options_;
  std::shared_ptr<Ladder> ladder_;
};

// The case with every floating dtype below float64 raised to `dtype`, its inputs the same numbers:
// a rung of the ladder. Dtype arguments (casts to half types, `dtype=` arguments) are raised too;
// integer and bool types stay.
Case at_rung(const Case& lowered, DType dtype, const OpTable& table);

}  // namespace ulpfuzz
