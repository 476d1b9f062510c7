#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ir/case.h"
#include "ir/fill.h"
#include "oracle/tensor.h"

namespace ulpfuzz {

// The program's inputs, then its cotangents (those that are there), for one input set: layouts and
// shared storages as the case says, so that in-place operators mean what they mean to a system.
// `types` are the inputs' types, then those of the outputs that have cotangents.
template <class T>
std::vector<Tensor<T>> make_inputs(const Case& bound, const std::vector<TensorType>& types,
                                   std::uint64_t salt);
// The same with elements of one's own: row-major ones of tensor i of `types`.
template <class T>
std::vector<Tensor<T>> make_inputs(const Case& bound, const std::vector<TensorType>& types,
                                   const std::function<Elements(std::size_t)>& elements);

}  // namespace ulpfuzz
