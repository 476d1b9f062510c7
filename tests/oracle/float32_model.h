#pragma once

#include "ir/dtype.h"
#include "oracle/running.h"

namespace ulpfuzz {

// Puts a system that computes in float32 in force for a test.
class Float32Model {
 public:
  explicit Float32Model(double function_ulps = 0, ErrorMode mode = ErrorMode::kBound)
      : before_(ErrorModel::current()) {
    const FloatFormat& format = float_format(DType::kFloat32);
    ErrorModel& model = ErrorModel::current();
    model.unit = format.unit_roundoff;
    model.mode = mode;
    model.function_ulps = function_ulps;
    model.scalar_unit = format.unit_roundoff;
    model.max_finite = format.max_finite;
    model.min_normal = 0x1p-126;
    model.min_subnormal = format.min_subnormal;
  }
  ~Float32Model() { ErrorModel::current() = before_; }
  Float32Model(const Float32Model&) = delete;
  Float32Model& operator=(const Float32Model&) = delete;

 private:
  ErrorModel before_;
};

}  // namespace ulpfuzz
