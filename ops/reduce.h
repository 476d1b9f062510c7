#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "ops/infer.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// What the rows of reductions share.
namespace ulpfuzz {

// The dimensions that a call reduces, for oracle/loops.h.
inline std::vector<std::int64_t> loop_dims(const Call& call) {
  const std::vector<int> dims = reduced_dims(call);
  return {dims.begin(), dims.end()};
}

// f(o, at, n) for each element o of a reduction of `x`, where at(j) is the storage position of its
// term j < n.
template <class T, class F>
void reduce_terms(const Call& call, const Tensor<T>& x, F&& f) {
  reduce(x, loop_dims(call),
         [&](std::int64_t o, std::int64_t base, const std::vector<std::int64_t>& positions) {
           f(
               o, [&](std::size_t j) { return base + positions[j]; }, positions.size());
         });
}

// `self` as elements of the result's floating dtype, or as integers of its integral one: reductions
// convert before they add.
template <class T>
Tensor<T> converted(const Tensor<T>& self, DType dtype) {
  if (!is_integral(dtype)) return as_real(self).tensor;
  Tensor<T> result({dtype, self.shape()});
  if (self.integral()) {
    map_int(
        result, [](std::int64_t x) { return x; }, self);
  } else {
    map_real(
        result, [&](const T& x) { return to_integer<T>(x, dtype); }, self);
  }
  return result;
}

// The square root of a sum of squares: within error of zero it ends at zero, not in NaN.
template <class T>
T root_of_squares(const T& x) {
  if constexpr (kIsRunning<T>) {
    const double size = std::fabs(narrow(x));
    if (x.e < std::numeric_limits<double>::infinity() && !(x.e < size) && x.e > 0)
      return {base::sqrt(base::abs(x.v)), std::sqrt(size + x.e), x.marks};
  }
  return sqrt(x);
}

}  // namespace ulpfuzz
