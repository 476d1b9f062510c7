#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/case.h"
#include "judge/judge.h"
#include "reducers/reducer.h"
#include "report/report.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// The road from a case to a finding, used by every command: judge a case by running what the judge
// asks for; reduce it under its signature; write it up.

// Drives Judge and Scheduler for many cases at once, so that their runs share packs. `options`
// apply to all. A case whose verification fails yields an empty list.
struct Judged {
  std::vector<Verdict> verdicts;  // eager first
  std::vector<Evidence> evidence;
};
std::vector<Judged> judge_cases(const std::vector<Case>& lowered, const JudgeOptions& options,
                                const OpTable& table, Scheduler& scheduler,
                                Company company = Company::kPacked);
// The same with options of each case's own: parallel to `lowered`.
std::vector<Judged> judge_cases(const std::vector<Case>& lowered,
                                const std::vector<JudgeOptions>& options, const OpTable& table,
                                Scheduler& scheduler, Company company = Company::kPacked);

// How often the case as it came showed the finding when it was looked at again.
struct SeenAgain {
  int seen = 0, looks = 0;
};

// Reduces in the cheapest company that shows `verdict`, confirms what is left on a run as a user's
// (Company::kStock), and assembles the finding. nullopt when the signature is not seen again. A
// finding that some runs show and some do not is reduced by a sequential test (Sightings).
struct InvestigateOptions {
  double cpu_budget_seconds = 120;  // of systems, for the reduction
  std::function<void(const ReductionProgress&)> progress;
  std::function<bool()> stopped;
  std::string capture_fault = {};  // planted into captures (systems/capture.h)
  bool look_again = false;         // at a second instruction set and in newer releases (SecondLook)
  bool look_if_reportable = false;  // likewise, where that is all that a report lacks
  bool certify = false;             // run every single step from the smallest case (Finding::steps)
  // Where the reduction stands is written into this file, and one that is there is gone on from;
  // empty: none.
  std::filesystem::path state = {};
  std::function<void(const SeenAgain&)> begun = {};  // after the first looks
};
std::optional<Finding> investigate(const Case& shown_by, const Verdict& verdict,
                                   const JudgeOptions& options, const OpTable& table,
                                   Scheduler& scheduler, const InvestigateOptions& how = {});

// The options under which a verdict is seen again at the least cost.
JudgeOptions options_for(const Verdict& verdict, const JudgeOptions& options);

}  // namespace ulpfuzz
