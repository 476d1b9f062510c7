#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"
#include "ir/program.h"

namespace ulpfuzz {

// What a type rule knows of a tensor.
struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

std::string to_string(const TensorType& type);  // "float32[4, 7]"

// ATen's broadcasting of two shapes; throws Error.
Shape broadcast(const Shape& a, const Shape& b);

// ATen's type promotion (c10 TensorIterator, ResultTypeState): operands with dimensions before
// zero-dimensional ones before Python numbers, a lower class counting only when its category
// (bool, integer, float, complex) is higher. The default dtype is float32.
class Promotion {
 public:
  void add(const TensorType& operand);
  void add(const Scalar& number);
  DType result() const;

 private:
  std::optional<DType> dimensioned_, zero_dim_, number_;
};
DType promote(DType a, DType b);

// `dim` in [-rank, rank) as an index in [0, rank); rank 0 counts as 1. Throws Error.
int wrap_dim(std::int64_t dim, std::size_t rank);

}  // namespace ulpfuzz
