#include "oracle/interpreter.h"

#include <type_traits>

namespace ulpfuzz {

template <class T>
void (*kernel_for(const OpKernels& kernels))(Kernel<T>&) {
  if constexpr (std::is_same_v<T, double>) {
    return kernels.f64;
  } else if constexpr (std::is_same_v<T, Running<double>>) {
    return kernels.running;
  } else {
    return kernels.running_quad;
  }
}

template <class T>
Tensor<T> number_tensor(const Kernel<T>& kernel, const Scalar& number) {
  if (const double* real = std::get_if<double>(&number.value)) {
    Tensor<T> tensor({DType::kFloat64, {}});
    tensor.real(0) = kernel.number(Scalar{*real});
    return tensor;
  }
  const bool is_bool = std::holds_alternative<bool>(number.value);
  Tensor<T> tensor({is_bool ? DType::kBool : DType::kInt64, {}});
  tensor.integer(0) = make_int<T>(number.as_integer());
  return tensor;
}

namespace {

template <class T>
class Evaluation {
 public:
  Evaluation(const Plan& plan, std::vector<Tensor<T>> inputs, Policy<T>& policy, ErrorMode mode)
      : values_(std::move(inputs)), policy_(policy), mode_(mode) {
    values_.resize(static_cast<std::size_t>(plan.slots()));
  }

  void run(const Plan::Step& step) {
    ErrorModel& model = ErrorModel::current();
    model = step.model;
    model.mode = mode_;
    std::vector<Tensor<T>> results;
    for (const TensorType& type : step.results) results.emplace_back(type);
    Kernel<T> kernel(step.call, std::move(results));
    policy_.begin(step, kernel);
    for (const Plan::BoundArgument& arg : step.args)
      kernel.bind(arg.name, operands(step, arg, kernel));
    kernel_for<T> (*step.op->row->kernels)(kernel);
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      Tensor<T> result = kernel.outputs()[i];
      const int slot = step.first_slot + static_cast<int>(i);
      if (!is_view(step, result)) policy_.finish(step, slot, result);
      values_[static_cast<std::size_t>(slot)] = std::move(result);
    }
  }

  std::vector<Tensor<T>> take() { return std::move(values_); }

 private:
  std::vector<Tensor<T>> operands(const Plan::Step& step, const Plan::BoundArgument& arg,
                                  const Kernel<T>& kernel) {
    std::vector<Tensor<T>> tensors;
    for (const Plan::Operand& operand : arg.operands) {
      if (operand.slot == Plan::kNone) {
        tensors.emplace_back();
      } else if (operand.slot == Plan::kNumber) {
        tensors.push_back(number_tensor(kernel, operand.number));
      } else {
        const Tensor<T>& value = values_[static_cast<std::size_t>(operand.slot)];
        const bool itself = arg.written || step.op->row->numerics.is_view;
        tensors.push_back(itself ? value : policy_.use(step, operand.slot, value));
      }
    }
    return tensors;
  }

  // Does the result show an operand's storage without having been written?
  bool is_view(const Plan::Step& step, const Tensor<T>& result) const {
    if (step.op->row->numerics.is_view) return true;
    if (step.op->schema.mutates()) return false;
    for (const Plan::BoundArgument& arg : step.args) {
      for (const Plan::Operand& operand : arg.operands) {
        if (operand.slot < 0) continue;
        if (result.shares_storage(values_[static_cast<std::size_t>(operand.slot)])) return true;
      }
    }
    return false;
  }

  std::vector<Tensor<T>> values_;
  Policy<T>& policy_;
  ErrorMode mode_;
};

}  // namespace

template <class T>
std::vector<Tensor<T>> interpret(const Plan& plan, std::vector<Tensor<T>> inputs, Policy<T>& policy,
                                 ErrorMode mode) {
  const ErrorModelScope scope;
  Evaluation<T> evaluation(plan, std::move(inputs), policy, mode);
  for (const Plan::Step& step : plan.steps()) evaluation.run(step);
  return evaluation.take();
}

template <class T>
void interpret_again(const Plan& plan, std::vector<Tensor<T>>& values,
                     const std::vector<bool>& again, Policy<T>& policy, ErrorMode mode) {
  const ErrorModelScope scope;
  Evaluation<T> evaluation(plan, std::move(values), policy, mode);
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    if (again[i]) evaluation.run(plan.steps()[i]);
  }
  values = evaluation.take();
}

template Tensor<double> number_tensor(const Kernel<double>&, const Scalar&);
template void (*kernel_for(const OpKernels&))(Kernel<double>&);

template std::vector<Tensor<double>> interpret(const Plan&, std::vector<Tensor<double>>,
                                               Policy<double>&, ErrorMode);
template std::vector<Tensor<Running<double>>> interpret(const Plan&,
                                                        std::vector<Tensor<Running<double>>>,
                                                        Policy<Running<double>>&, ErrorMode);
template std::vector<Tensor<Running<Quad>>> interpret(const Plan&,
                                                      std::vector<Tensor<Running<Quad>>>,
                                                      Policy<Running<Quad>>&, ErrorMode);

template void interpret_again(const Plan&, std::vector<Tensor<double>>&, const std::vector<bool>&,
                              Policy<double>&, ErrorMode);

}  // namespace ulpfuzz
