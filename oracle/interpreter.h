#pragma once

#include <vector>

#include "oracle/kernel.h"
#include "oracle/plan.h"
#include "oracle/tensor.h"

namespace ulpfuzz {

// What one kind of evaluation does beyond the kernels' real arithmetic.
template <class T>
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void begin(const Plan::Step&, Kernel<T>&) {}
  // The operand as this use sees it: the value itself or a copy. Not asked for operands that the
  // step writes or takes a view of.
  virtual Tensor<T> use(const Plan::Step&, int /*slot*/, const Tensor<T>& value) { return value; }
  // Called with each result that has storage of its own or was written in place; not for views.
  virtual void finish(const Plan::Step&, int /*slot*/, Tensor<T>&) {}
};

// Evaluates the program; returns the values of all slots. `inputs` in the order of the program's;
// in-place operators write into them. Sets ErrorModel::current() for each step, in `mode`.
template <class T>
std::vector<Tensor<T>> interpret(const Plan& plan, std::vector<Tensor<T>> inputs, Policy<T>& policy,
                                 ErrorMode mode = ErrorMode::kBound);

// Evaluates again the steps of which `again` is true, in place of what `values` (of all slots) has;
// the others keep theirs. For programs without writes.
template <class T>
void interpret_again(const Plan& plan, std::vector<Tensor<T>>& values,
                     const std::vector<bool>& again, Policy<T>& policy,
                     ErrorMode mode = ErrorMode::kBound);

// A Python number in a tensor slot as a zero-dimensional tensor, rounded as the kernel's numbers are.
template <class T>
Tensor<T> number_tensor(const Kernel<T>& kernel, const Scalar& number);

// The kernel's instance for a scalar type.
template <class T>
void (*kernel_for(const OpKernels& kernels))(Kernel<T>&);

}  // namespace ulpfuzz
