#include "ir/type.h"

#include <algorithm>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

DType to_complex(DType dtype) {
  // c10::toComplexType; complex32 is not among our types.
  if (dtype == DType::kFloat64) return DType::kComplex128;
  if (dtype == DType::kFloat16) throw Error("float16 with a complex operand gives complex32");
  return DType::kComplex64;
}

// Where a lower class of operands meets a higher one (c10 combine_categories).
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower || is_complex(*higher)) return higher;
  if (is_floating(*higher)) return is_complex(*lower) ? to_complex(*higher) : *higher;
  if (*higher == DType::kBool || !is_integral(*lower)) return promote(*higher, *lower);
  return higher;
}

void join(std::optional<DType>& held, DType dtype) { held = held ? promote(*held, dtype) : dtype; }

}  // namespace

std::string to_string(const TensorType& type) {
  return std::string(name(type.dtype)) + shape_text(type.shape);
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = result[longer.size() - 1 - i];
    const std::int64_t other = shorter[shorter.size() - 1 - i];
    if (size == 1) {
      size = other;
    } else if (other != 1 && other != size) {
      throw Error("shapes " + shape_text(a) + " and " + shape_text(b) + " do not broadcast");
    }
  }
  return result;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = real_part(a) == DType::kFloat64 || real_part(b) == DType::kFloat64;
    return wide ? DType::kComplex128 : DType::kComplex64;
  }
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  const auto [low, high] = std::minmax(a, b);
  if (is_floating(a)) {
    return high == DType::kBFloat16 ? DType::kFloat32 : high;  // float16 and bfloat16
  }
  if (low == DType::kUInt8 && high == DType::kInt8) return DType::kInt16;
  return high;
}

void Promotion::add(const TensorType& operand) {
  join(operand.shape.empty() ? zero_dim_ : dimensioned_, operand.dtype);
}

void Promotion::add(const Scalar& number) {
  constexpr DType kCategory[] = {DType::kBool, DType::kInt64, DType::kFloat32};
  join(number_, kCategory[number.value.index()]);
}

DType Promotion::result() const {
  const std::optional<DType> result = combine(dimensioned_, combine(zero_dim_, number_));
  if (!result) throw Error("no operands to promote");
  return *result;
}

int wrap_dim(std::int64_t dim, std::size_t rank) {
  const auto range = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -range || dim >= range) {
    throw Error("dimension " + std::to_string(dim) + " is not in [" + std::to_string(-range) +
                ", " + std::to_string(range - 1) + "]");
  }
  return static_cast<int>(dim < 0 ? dim + range : dim);
}

}  // namespace ulpfuzz
