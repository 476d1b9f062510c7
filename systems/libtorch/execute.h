#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "ir/case.h"
#include "ir/run.h"

namespace ulpfuzz::libtorch {

// The tensors of one execution.
struct Outcome {
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> gradients;  // one for each wrt, undefined for None; empty with grad off
};

// Runs the case's program eagerly, and autograd after it, on one input set (PROTOCOL.md,
// "Executions"). The environment is in force already (switches.h). `enter` is called before the
// forward and the backward pass. Throws what the operators throw.
//
// `forward`: where given, what is called in place of the program's operators.
using Forward = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;
Outcome execute(const Case& c, std::uint64_t input_set, const std::function<void(Stage)>& enter,
                const Forward& forward = {});
// The same on inputs that are there (make_inputs()).
Outcome execute_on(const Case& c, std::vector<at::Tensor> inputs, std::uint64_t input_set,
                   const std::function<void(Stage)>& enter, const Forward& forward = {});

}  // namespace ulpfuzz::libtorch
