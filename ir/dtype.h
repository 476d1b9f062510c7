#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ulpfuzz {

// Element types, named as torch names them ("bfloat16", "int64", "bool").
enum class DType : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

std::int64_t item_size(DType dtype);  // bytes an element
bool is_floating(DType dtype);        // float16, bfloat16, float32, float64
bool is_complex(DType dtype);
bool is_integral(DType dtype);  // integers and bool
DType real_part(DType dtype);   // complex64 -> float32, complex128 -> float64, else itself

// The type in which ATen and Inductor compute on a CPU or GPU when operands have `dtype`: float32
// for the half types (c10's opmath_t), the type itself otherwise.
DType opmath(DType dtype);

// IEEE 754 parameters of a floating type (of the real part, for a complex one).
struct FloatFormat {
  int precision;         // significand bits with the implicit one: 8, 11, 24, 53
  int min_exponent;      // of the smallest normal number 2^min_exponent: -126 for float32
  double max_finite;     // largest finite number
  double min_subnormal;  // smallest positive number
  double unit_roundoff;  // u = 2^-precision
};
const FloatFormat& float_format(DType dtype);  // throws Error for an integral type

// `value` rounded to the nearest number of the floating `dtype`, ties to even, overflow to
// infinity, subnormals kept. float16 and bfloat16 round once from double.
double round_to(DType dtype, double value);

// Smallest and largest value of an integral type.
std::int64_t min_integer(DType dtype);
std::int64_t max_integer(DType dtype);

// `value` reduced modulo 2^width into the range of an integral type, as C++ conversion wraps;
// bool gives value != 0.
std::int64_t wrap_to(DType dtype, std::int64_t value);

// Are these the same number to the bit? All NaNs are one.
bool same_bits(double a, double b);

}  // namespace ulpfuzz
