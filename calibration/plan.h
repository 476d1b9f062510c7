#pragma once

#include <string>
#include <vector>

#include "calibration/calibrate.h"
#include "ir/case.h"
#include "systems/fault.h"

namespace ulpfuzz {

struct PlannedFault {
  std::string fault;  // "attn-scale=1.03"
  FaultEffect effect = FaultEffect::kSemantic;
  bool compiled_only = false;  // only a compiler can have it
  // Seen by which kernel ran, or by its layouts: runs are profiled, which costs a compiler its
  // packs.
  bool of_kernels = false;
};
// Every planted fault that shows in results, at each of its strengths. `only`: "" for all, else a
// fault's name, with a strength or for all of them. Throws Error where there is no such fault.
std::vector<PlannedFault> planned_faults(const std::string& only);

// A generated case and the faults that it has a place for and is to be tried with.
struct FaultyCase {
  Case test;
  std::vector<std::string> faults;    // in eager mode
  std::vector<std::string> compiled;  // in a compiler
};
// Cases for one kind of program ("op graphs", "float32 models"), in the order of the generator's
// stream: each fault gets the first ones that have a place for it, until it has as many as the
// options ask for, or the stream has been looked at far enough.
std::vector<FaultyCase> faulty_cases(const std::string& where,
                                     const std::vector<PlannedFault>& faults,
                                     const CalibrateOptions& options, const OpTable& table);
const std::vector<std::string>& kinds_of_programs();

// Cases of op graphs and models, without a fault.
std::vector<Case> clean_cases(std::uint64_t seed, int count, const OpTable& table);

}  // namespace ulpfuzz
