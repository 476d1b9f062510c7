#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "ir/program.h"

namespace ulpfuzz::libtorch {

// The tensor that a reference of a node means.
using Lookup = std::function<at::Tensor(const Ref&)>;

// One call of the node's operator through the dispatcher, boxed, as Python's own call is after its
// arguments are parsed: absent arguments are the schema's defaults, a number in a tensor slot is a
// wrapped number. Results are flat: a list of tensors counts as that many results.
// Throws what the operator throws (c10::Error), Error for an argument of the wrong kind.
std::vector<at::Tensor> call_boxed(const Node& node, const Lookup& lookup);

}  // namespace ulpfuzz::libtorch
