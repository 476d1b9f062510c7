#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz::libtorch {

at::ScalarType scalar_type(DType dtype);
std::optional<DType> known_dtype(at::ScalarType type);
DType dtype_of(at::ScalarType type);  // throws Error for a type that ulpfuzz does not know

// The inputs of a case whose sizes are numbers, in memory of their own, laid out and filled as
// PROTOCOL.md says ("Executions"), those in `wrt` requiring a gradient.
std::vector<at::Tensor> make_inputs(const Case& c, std::uint64_t input_set, at::Device device);

// The gradient that flows into `output`, of its dtype and shape.
at::Tensor make_cotangent(const Cotangent& cotangent, const at::Tensor& output,
                          std::uint64_t input_set);

}  // namespace ulpfuzz::libtorch
