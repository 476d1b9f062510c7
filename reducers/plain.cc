#include "reducers/plain.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ulpfuzz {

std::span<const std::string_view> plain_operators() {
  static constexpr std::array<std::string_view, 4> kPlain{
      "aten.neg.default", "aten.add.Tensor", "aten.sum.dim_IntList", "aten.mm.default"};
  return kPlain;
}

std::int64_t operator_weight(std::string_view op) {
  return std::ranges::find(plain_operators(), op) == plain_operators().end() ? 1 : 0;
}

std::int64_t dtype_weight(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kInt64 || dtype == DType::kBool ? 0 : 1;
}

int significant_bits(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  int exponent = 0;
  auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), 53));
  int bits = 53;
  for (; mantissa % 2 == 0; mantissa /= 2) --bits;
  return bits;
}

double shortened(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::trunc(std::ldexp(mantissa, bits)), exponent - bits);
}

std::int64_t number_weight(double value) {
  if (value == 0) return std::signbit(value) ? 2 : 0;
  if (value == 1) return 1;
  if (!std::isfinite(value)) return 3;
  const std::int64_t sign = value < 0 ? 1 : 0;
  if (std::abs(value) <= 16 && value == std::trunc(value)) return 2 + sign;
  return 4 + sign + significant_bits(value) + std::abs(std::ilogb(value)) / 8;
}

}  // namespace ulpfuzz
