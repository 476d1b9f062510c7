#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "oracle/oracle.h"
#include "oracle/scalar.h"

// Element i of ExactTensor::values. Those of a complex tensor are real and imaginary parts in turn,
// which share one bound and one set of marks.
namespace ulpfuzz {

inline std::size_t element_index(const ExactTensor& exact, std::size_t i) {
  return is_complex(exact.type.dtype) ? i / 2 : i;
}

inline std::uint8_t marks_of(const ExactTensor& exact, std::size_t i) {
  return exact.marks.empty() ? std::uint8_t{0} : exact.marks[element_index(exact, i)];
}

inline double bound_of(const ExactTensor& exact, std::size_t i) {
  return exact.bound[element_index(exact, i)];
}

// What an element can be held against.
enum class Standing : std::uint8_t {
  kBounded,    // the exact value and its bound
  kUnbounded,  // the exact value, but first-order analysis gives no bound: legal executions only
  kMasked,     // nothing: undefined, or the branch taken upstream is not decided
};
inline Standing standing(const ExactTensor& exact, std::size_t i) {
  const std::uint8_t marks = marks_of(exact, i);
  if ((marks & (kNearTie | kUndefined)) != 0) return Standing::kMasked;
  const bool bounded = (marks & kRange) == 0 && std::isfinite(bound_of(exact, i));
  return bounded ? Standing::kBounded : Standing::kUnbounded;
}

inline double error_of(double y, const ExactTensor& exact, std::size_t i) {
  const double low = exact.low.empty() ? 0.0 : exact.low[i];
  return std::abs((y - exact.values[i]) - low);
}

}  // namespace ulpfuzz
