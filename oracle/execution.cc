#include "oracle/execution.h"

namespace ulpfuzz::execution {

Tensor<double> rounded_half(const Tensor<double>& value) {
  Tensor<double> copy = value.contiguous();
  const HalfRounding round(value.dtype());
  double* values = copy.reals();
  const std::int64_t n = copy.size();
  for (std::int64_t i = 0; i < n; ++i) values[i] = round(values[i]);
  return copy;
}

std::vector<double> elements(const Tensor<double>& value) {
  const Tensor<double> plain = value.is_contiguous() ? value : value.contiguous();
  const std::int64_t width = is_complex(value.dtype()) ? 2 : 1;
  const double* first = plain.reals() + plain.offset() * width;
  std::vector<double> all(first, first + plain.size() * width);
  if (real_part(value.dtype()) == DType::kFloat32) {
    for (double& x : all) x = static_cast<double>(static_cast<float>(x));
  }
  return all;
}

void LocalErrors::finish(const Plan::Step& step, int slot, Tensor<Running<double>>& result) {
  if (result.integral()) return;
  std::vector<double>& errors = errors_[static_cast<std::size_t>(slot)];
  const std::int64_t width = is_complex(result.dtype()) ? 2 : 1;
  errors.resize(static_cast<std::size_t>(result.size() * width));
  bool any = false;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    Running<double>& x = result.real(static_cast<std::int64_t>(i));
    const bool one_rounding = x.e <= 1.0001 * step.model.unit * std::fabs(x.v);
    errors[i] = std::isfinite(x.e) && !one_rounding ? x.e : 0;
    any = any || errors[i] > 0;
    x.e = 0;
    x.marks = 0;
  }
  if (!any) errors.clear();
}

}  // namespace ulpfuzz::execution
