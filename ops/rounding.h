#pragma once

#include "ir/dtype.h"
#include "oracle/nominal.h"
#include "oracle/running.h"

namespace ulpfuzz {

// The error of rounding to `dtype`, when that is a half type, which a kernel may hold values in.
template <class T>
T maybe_half(T x, DType dtype) {
  if constexpr (kIsRunning<T>) {
    if (opmath(dtype) != dtype) include_rounding(x, float_format(dtype));
  }
  return x;
}

}  // namespace ulpfuzz
