#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"

namespace ulpfuzz {

// What a test of a case should tolerate: |actual - expected| <= atol + rtol |expected|, for all
// elements of a tensor, as torch.testing.assert_close has it.
struct Allowance {
  double rtol = 0;  // dimensionless
  double atol = 0;  // in the tensor's own unit
};

// What assert_close takes for two tensors of a dtype when it is told nothing (the table in
// torch.testing's documentation). It looks at the dtype of the results alone: a float32 loss of a
// bfloat16 model gets float32's.
Allowance torch_testing_default(DType dtype);

// Does every element pass? False for results of different shapes; NaN passes beside NaN.
bool passes(const TensorResult& actual, const TensorResult& expected, const Allowance& allowance);

struct Tolerance {
  std::string tensor;  // as TensorResult::name
  DType dtype = DType::kFloat32;
  Allowance suggested;
  Allowance usual;         // torch_testing_default(dtype)
  double usual_rate = 0;   // share of the drawn pairs that fail `usual`: its false-alarm rate
  std::int64_t pairs = 0;  // of legal executions drawn
};

struct ToleranceOptions {
  int seeds = 32;      // input sets, from 0
  double rate = 1e-3;  // of false alarms of one tensor's check, a test run
};

// For each floating result the tightest tolerance, by its mean over the elements, under which two
// correct systems are told apart with probability `rate` at most: one eager, one that fuses, each a
// legal execution (oracle/oracle.h) of the same inputs. Beyond the sample the tail of the largest
// excess is taken as exponential above its 90 % quantile (peaks over threshold, S. Coles, An
// Introduction to Statistical Modeling of Extreme Values, ch. 4, with shape 0, which is on the safe
// side for the bounded and bell-shaped errors of rounding), with the upper 95 % limit of its mean,
// and the whole is widened by the misfit of the model to real systems (judge/model.h). Results of
// float64 cases are left out: no executions are drawn there. Throws Error when the case does not
// verify.
std::vector<Tolerance> tolerances(const Case& lowered, const OpTable& table,
                                  const ToleranceOptions& options);

}  // namespace ulpfuzz
