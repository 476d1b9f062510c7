#pragma once

#include <cstdint>
#include <vector>

#include "ir/case.h"
#include "oracle/tensor.h"

namespace ulpfuzz {

// The program's inputs, then its cotangents (those that are there), for one input set: layouts and
// shared storages as the case says, so that in-place operators mean what they mean to a system.
// `types` are the inputs' types, then those of the outputs that have cotangents.
template <class T>
std::vector<Tensor<T>> make_inputs(const Case& bound, const std::vector<TensorType>& types,
                                   std::uint64_t salt);

}  // namespace ulpfuzz
