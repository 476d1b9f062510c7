#pragma once

#include <limits>
#include <vector>

#include "ops/rounding.h"
#include "oracle/running.h"
#include "oracle/sum.h"

namespace ulpfuzz {

// The largest element, as a number without error: whatever a system subtracts cancels, but for the
// rounding of the differences.
template <class T>
T shift_of(const std::vector<T>& x) {
  T largest = x.front();
  for (const T& value : x) largest = max_of(largest, value);
  if constexpr (kIsRunning<T>) {
    if (internal::is_finite(largest.v)) largest.e = 0;
  }
  return largest;
}

template <class T>
bool is_minus_infinity(const T& x) {
  return narrow(x) == -std::numeric_limits<double>::infinity();
}

// exp(x - max) / sum in place, the exponentials held in `dtype`. `safe`: zeros where all elements
// are -inf, else NaN as IEEE has it.
template <class T>
void softmax_line(std::vector<T>& x, bool safe, DType dtype) {
  const T largest = shift_of(x);
  if (safe && is_minus_infinity(largest)) {
    for (T& value : x) value = T{};
    return;
  }
  Sum<T> sum;
  for (T& value : x) {
    value = exp(value - largest);
    sum.add(value);
  }
  const T scale = 1.0 / sum.total();  // one rounding more than a division: systems do either
  for (T& value : x) value = maybe_half(value, dtype) * scale;
}

}  // namespace ulpfuzz
