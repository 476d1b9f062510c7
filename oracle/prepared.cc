#include "oracle/prepared.h"

#include <algorithm>

#include "oracle/interpreter.h"

namespace ulpfuzz {
namespace {

void clear(const Tensor<double>& tensor) {
  if (tensor.integral()) {
    std::fill_n(tensor.integers(), tensor.storage_size(), 0);
  } else {
    const std::int64_t width = is_complex(tensor.dtype()) ? 2 : 1;
    std::fill_n(tensor.reals(), tensor.storage_size() * width, 0.0);
  }
}

}  // namespace

Prepared::Prepared(const Plan& plan, std::vector<Tensor<double>> inputs)
    : values_(std::move(inputs)) {
  values_.resize(static_cast<std::size_t>(plan.slots()));
  steps_.reserve(plan.steps().size());
  for (const Plan::Step& step : plan.steps()) {
    std::vector<Tensor<double>> results;
    for (const TensorType& type : step.results) results.emplace_back(type);
    steps_.push_back({&step, std::nullopt, std::move(results)});
  }
}

// Hands the kernel its operands as they are now.
void Prepared::bind(Step& step) {
  Kernel<double>& kernel = step.kernel.emplace(step.step->call, step.results);
  for (const Plan::BoundArgument& arg : step.step->args) {
    std::vector<Tensor<double>> tensors;
    for (const Plan::Operand& operand : arg.operands) {
      if (operand.slot == Plan::kNone) {
        tensors.emplace_back();
      } else if (operand.slot == Plan::kNumber) {
        tensors.push_back(number_tensor(kernel, operand.number));
      } else {
        tensors.push_back(values_[static_cast<std::size_t>(operand.slot)]);
      }
    }
    kernel.bind(arg.name, std::move(tensors));
  }
}

const std::vector<Tensor<double>>& Prepared::run() {
  const ErrorModelScope scope;
  bool moved = !bound_;  // some value lies elsewhere than when the kernels were bound
  for (Step& step : steps_) {
    ErrorModel::current() = step.step->model;
    if (moved) bind(step);
    for (const Tensor<double>& result : step.results) clear(result);
    kernel_for<double> (*step.step->op->row->kernels)(*step.kernel);
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      Tensor<double>& value = values_[static_cast<std::size_t>(step.step->first_slot) + i];
      const Tensor<double>& result = step.kernel->outputs()[i];
      if (value.defined() && value.shares_storage(result)) continue;
      value = result;
      moved = true;
    }
  }
  bound_ = true;
  return values_;
}

}  // namespace ulpfuzz
