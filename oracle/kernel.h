#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "ir/call.h"
#include "oracle/running.h"
#include "oracle/tensor.h"

namespace ulpfuzz {

// One execution of an operator in the oracle: reads operands, writes results.
//
// The values are real arithmetic on what the operands hold: a kernel does not round to nominal
// dtypes (the interpreter's policy does, where it is wanted). Integers wrap as their type does.
// Kernels follow ATen's formula where an implementation's own cancellation is legal (GELU through
// erf), so that Running sees it.
template <class T>
class Kernel {
 public:
  Kernel(const Call& call, std::vector<Tensor<T>> outputs)
      : call_(call), outputs_(std::move(outputs)) {}

  const Call& call() const { return call_; }
  // The operand as a tensor; a Python number in a tensor slot comes as a zero-dimensional one.
  const Tensor<T>& in(std::string_view arg) const;
  const std::vector<Tensor<T>>& list(std::string_view arg) const;  // None entries: default tensors
  bool has(std::string_view arg) const { return call_.given(arg); }
  // A Scalar, float or int argument as the system holds it, rounded.
  T number(std::string_view arg) const { return number(call_.scalar(arg)); }
  T number(const Scalar& scalar) const {
    const double x = scalar.as_double();
    const double seen = rounds_numbers_ ? round_to(number_dtype_, x) : x;
    return constant<T>(seen, ErrorModel::current().scalar_unit);
  }

  // Results, allocated contiguous with the types that the row's rule inferred. A view kernel
  // assigns a view of an operand instead; an in-place kernel writes into its operand and assigns
  // it.
  Tensor<T>& out(int index = 0) { return outputs_[static_cast<std::size_t>(index)]; }
  const std::vector<Tensor<T>>& outputs() const { return outputs_; }

  // Set by the interpreter.
  void bind(std::string_view arg, std::vector<Tensor<T>> tensors);
  void round_numbers_to(DType dtype) {
    rounds_numbers_ = true;
    number_dtype_ = dtype;
  }

 private:
  struct Binding {
    std::string_view arg;
    std::vector<Tensor<T>> tensors;
  };
  const Call& call_;
  std::vector<Binding> bindings_;
  std::vector<Tensor<T>> outputs_;
  bool rounds_numbers_ = false;
  DType number_dtype_ = DType::kFloat32;
};

struct OpKernels {
  void (*f64)(Kernel<double>&);
  void (*running)(Kernel<Running<double>>&);
  void (*running_quad)(Kernel<Running<Quad>>&);
};

// The three instances of a kernel written as
//     struct AddKernel { template <class T> static void run(Kernel<T>& k); };
template <class K>
inline constexpr OpKernels kKernels{&K::template run<double>, &K::template run<Running<double>>,
                                    &K::template run<Running<Quad>>};

}  // namespace ulpfuzz
