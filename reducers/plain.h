#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/dtype.h"

// What counts as plain: the order in which a reader would rather see operators, dtypes and numbers.
namespace ulpfuzz {

// Operators that stand for others of their kind, by full name: one elementwise of one tensor, one
// of two, one reduction, one product.
std::span<const std::string_view> plain_operators();

// 0 for those, 1 for all others.
std::int64_t operator_weight(std::string_view op);

// 0 for float32, int64 and bool, 1 for the others.
std::int64_t dtype_weight(DType dtype);

// 0 for zero, 1 for one, little for small integers, powers of two, infinities and NaN; else by the
// bits of the significand, and by the exponent's distance from 0.
std::int64_t number_weight(double value);

// Significant bits of a finite number, 0 for zero.
int significant_bits(double value);

// `value` with at most `bits` significant bits, rounded towards zero.
double shortened(double value, int bits);

}  // namespace ulpfuzz
