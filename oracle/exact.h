#pragma once

#include <map>

#include "oracle/acceptable.h"
#include "oracle/interpreter.h"
#include "oracle/nominal.h"
#include "oracle/odometer.h"

namespace ulpfuzz {

// The exact pass: values are never rounded; their errors grow by every rounding to a nominal dtype
// that a system may do, which makes them a bound on all legal executions (eager rounds everything).
template <class B>
class BoundPolicy : public Policy<Running<B>> {
 public:
  using T = Running<B>;

  // An operand of a wider type is converted to the type that the step computes in.
  Tensor<T> use(const Plan::Step& step, int, const Tensor<T>& value) override {
    if (step.op->row->numerics.arg_result >= 0) arg_operand_ = value;
    if (step.converts || value.integral()) return value;
    const FloatFormat& format = float_format(step.compute);
    if (float_format(real_part(value.dtype())).precision <= format.precision) return value;
    Tensor<T> converted = value.contiguous();
    round_all(converted, format);
    return converted;
  }

  void finish(const Plan::Step& step, int slot, Tensor<T>& result) override {
    if (slot == step.first_slot + step.op->row->numerics.arg_result) {
      acceptable_[slot] = acceptable_indices(step, arg_operand_);
    }
    if (result.integral()) return;
    const DType nominal = real_part(result.dtype());
    // For float32 and float64 the last operation of the kernel was this rounding.
    if (opmath(nominal) == nominal && !narrows(step, nominal)) return;
    round_all(result, float_format(nominal));
  }

  // For a slot that holds indices of extrema: per element the indices that a legal execution may
  // return. Empty for others.
  std::vector<std::vector<std::int64_t>> acceptable(int slot) const {
    const auto found = acceptable_.find(slot);
    return found == acceptable_.end() ? std::vector<std::vector<std::int64_t>>() : found->second;
  }

 private:
  static bool narrows(const Plan::Step& step, DType nominal) {
    return step.converts && nominal != DType::kFloat64;
  }
  static void round_all(Tensor<T>& tensor, const FloatFormat& format) {
    const std::int64_t width = is_complex(tensor.dtype()) ? 2 : 1;
    for (Rows<1> rows(tensor.shape(), {tensor.offset()}, {tensor.strides()}); !rows.done();
         rows.next()) {
      for (std::int64_t i = 0; i < rows.length(); ++i) {
        const std::int64_t at = (rows.at(0) + i * rows.step(0)) * width;
        for (std::int64_t part = 0; part < width; ++part) {
          include_rounding(tensor.real(at + part), format);
        }
      }
    }
  }

  Tensor<T> arg_operand_;
  std::map<int, std::vector<std::vector<std::int64_t>>> acceptable_;
};

}  // namespace ulpfuzz
