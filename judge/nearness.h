#pragma once

#include <string>
#include <vector>

#include "ir/verdict.h"

namespace ulpfuzz {

// A number with an interval that covers the true one at a stated confidence.
struct Interval {
  double value = 0, low = 0, high = 0;
};

// Does a system lie where its legal executions lie? Said only where the interval says so.
enum class Membership : std::uint8_t { kInside, kOutside, kUnsure, kNotTested };
std::string_view name(Membership membership);  // "inside", "outside", "unsure", "-"

// How near each system lies to the exact values of one tensor, over all input sets of a rung.
struct Nearness {
  struct System {
    std::string name;
    // Geometric mean over input sets of the RMS error; the rounding of the exact values to the
    // result's dtype is added to each in quadrature, so that nothing is nearer than that.
    double error = 0;
    // Ratio of that to eager's, paired by input set. Eager itself: 1, 1, 1.
    Interval to_eager;
    double to_legal = 0;  // geometric mean of the ratio to a legal execution; 0: none was drawn
    Membership freedom = Membership::kNotTested;
  };
  std::string tensor, rung;
  int sets = 0;                 // input sets on which all systems have a result
  std::vector<System> systems;  // as the verdicts: eager first
  // The system that is nearer to exact than every other one; empty: the sets do not decide.
  std::string nearest;
};

// Per tensor, never averaged over tensors. Intervals are Student's t of the paired log ratios
// (input sets are independent draws), simultaneous over tensors and pairs of systems by
// Bonferroni's inequality: with probability `confidence` all of them hold at once. Empty with fewer
// than two input sets. A system is inside its freedom set when its mean log ratio to legal
// executions is at most the judge's margin (judge/model.h) with the whole interval, outside when
// with none of it.
std::vector<Nearness> nearness(const std::vector<Verdict>& verdicts, double confidence = 0.95);

}  // namespace ulpfuzz
