#pragma once

#include <vector>

#include "calibration/calibrate.h"
#include "fuzz/investigate.h"
#include "oracle/oracle.h"

namespace ulpfuzz {

// What the judge and its peers say of one system on one case.
struct Trial {
  Verdict verdict;
  std::vector<bool> peers;  // parallel to peer_judges(): an alarm on the first input set
  bool found() const { return is_finding(verdict.primary); }
};

// A case that went the road of every case, with what the judge saw of it.
struct TriedCase {
  Judged judged;
  bool valid = false;         // it verifies and eager ran it; without that nothing else is here
  Exact exact;                // of the first input set
  Trial eager;                // eager@py itself, beside which peers have nothing to say
  std::vector<Trial> trials;  // one a system of the options, in order
};

// The run of a system on the case as it came (its forward part, for a system without a backward
// pass); null where there is none.
const Run* run_on_case(const TriedCase& tried, const Case& c, const SystemSpec& system);

// Judges the cases, each for its own systems, and has the peers look at the same runs. The judge
// evaluates a case once for all of its systems. Adds to `cost`.
std::vector<TriedCase> try_cases(const std::vector<Case>& cases,
                                 const std::vector<JudgeOptions>& options, const OpTable& table,
                                 Scheduler& scheduler, Cost& cost);

// "op graphs", or "bfloat16 models".
std::string where_of(const Case& c);

}  // namespace ulpfuzz
