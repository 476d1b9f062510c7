#pragma once

#include <limits>
#include <optional>

#include "ir/run.h"
#include "ir/verdict.h"
#include "oracle/oracle.h"

namespace ulpfuzz {

// From this share of a result's size on a planted fault must be found on one input set.
inline constexpr double kLargeEffect = 0.03;

// What a planted fault does to a case, said without the judge.
struct Effect {
  // Something is there to be seen. For a fault of the program: a system that rounds each exact
  // result once would give other results than without it. Where the exact values are the same (a
  // fault of precision, or of the worker): the run differs from a clean one, in bits, layouts,
  // kernels or in how it ended.
  bool any = false;
  // The largest change of a result: RMS of the change over RMS of the result, over the elements
  // that have a right value, of tensors whose change is at least three times the RMS error of eager
  // itself (a result that cancels to nearly nothing changes by any factor within rounding; its size
  // is taken for a millionth of the largest result's at least). In
  // exact values for a fault of the program, and 0 where it leaves these alone; between runs for a
  // fault of the worker. Infinite where a number is lost, or where layouts, kernels or the end of
  // the run differ.
  double relative = 0;
  bool large() const { return relative >= kLargeEffect; }
};

// All of one input set. `planted`: exact values of the program with its fault, null for a fault of
// the worker. `eager`: eager's own verdict on the clean case, for its errors.
Effect effect_of(const Exact& clean, const Exact* planted, const Run& clean_run, const Run& run,
                 const Verdict& eager);

}  // namespace ulpfuzz
