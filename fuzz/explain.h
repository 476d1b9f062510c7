#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/case.h"
#include "judge/judge.h"
#include "reducers/conditions.h"
#include "report/report.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// What may change in a case while it goes on to fail in the same way.
struct Explanation {
  // One thing at a time: switches, dtypes, attention kernels, threads, dynamic shapes. An answer to
  // "is it the reshape?" is a row here.
  std::vector<Variation> variations;
  Conditions conditions;  // on fields or sizes, from the values that were probed
  int cases = 0;          // judged for it
};

struct ExplainOptions {
  int most_cases = 400;
  std::string capture_fault = {};  // planted into captures
  std::function<bool()> stopped = {};
};

// Varies every dimension of a case (reducers/dimensions.h) and its environment, one at a time, in
// rounds: what was seen says which values are worth trying next. Variations that do not verify, or
// that eager does not run, are left out.
Explanation explain(const Case& c, const Signature& signature, const JudgeOptions& options,
                    const OpTable& table, Scheduler& scheduler, const ExplainOptions& how = {});

}  // namespace ulpfuzz
