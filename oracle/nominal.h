#pragma once

#include <cmath>

#include "ir/dtype.h"
#include "oracle/arithmetic.h"

namespace ulpfuzz {

// The error of x grows by what rounding to `dtype` may do to it; the value stays. A value that the
// type may not hold is marked kRange.
template <class B>
void include_rounding(Running<B>& x, const FloatFormat& format) {
  if (!internal::is_finite(x.v) || !internal::finite(x.e)) return;
  const ErrorModel& model = ErrorModel::current();
  const double size = std::fabs(base::narrow(x.v));
  if (size + x.e > format.max_finite) {
    x.e = internal::kInfinity;
    x.marks |= internal::range_mark(size, format.max_finite);
    return;
  }
  const bool normal = size >= std::ldexp(1.0, format.min_exponent);
  if (x.e == 0 && (size == 0 || (normal && internal::representable(x.v, format.unit_roundoff)))) {
    return;
  }
  const double rounding = normal ? format.unit_roundoff * (size + x.e) : format.min_subnormal;
  x.e = internal::add_errors(x.e, model.deviations * rounding, model);
}

}  // namespace ulpfuzz
