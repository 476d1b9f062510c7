#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"

namespace ulpfuzz {

// How the elements of a tensor come to be: a counter-based rule, the same to the bit in C++ and in
// Python (systems/python/fills.py, and printed into every repro.py).
//
// Element i, counted in row-major order of the logical shape whatever the layout, draws
//     h(i) = mix(seed + (i + 1) * 0x9E3779B97F4A7C15)          (SplitMix64, Steele et al. 2014)
//     mix(z): z = (z ^ z>>30) * 0xBF58476D1CE4E5B9; z = (z ^ z>>27) * 0x94D049BB133111EB; z ^ z>>31
// all modulo 2^64, and from it
//     kNormal    a bell curve: the four 16-bit pieces of h summed, s = sum - 131070, is exact and
//                has variance (2^32 - 1)/3; the value is s * scale * 2^-15 * 0.8660254037844386
//                (near unit variance times scale^2; the product is taken left to right in double)
//                + shift
//     kUniform   shift + scale * ((h >> 11) * 2^-53)
//     kExponent  (h & 1 ? -1 : 1) * (1 + ((h >> 12) & 0xFFFFF) * 2^-20) * 2^e,
//                e = low + (h >> 32) mod (high - low + 1)
//     kInteger   low + (h >> 1) mod (high - low + 1)
//     kChoice    values[(h >> 1) mod n]
//     kArange    shift + scale * i
//     kLiteral   values[i]; one value only stands for all elements
// With probability special_rate/65536, decided by (h2 & 0xFFFF) for h2 = mix(h ^ seed), the value
// is instead values[(h2 >> 16) mod n] (kNormal, kUniform, kExponent, kInteger).
//
// For floating and complex tensors the double is rounded to float32 and then to `grid` (when it is
// a narrower type), so that inputs of a float32 or float64 rung are the same numbers as those of
// the bfloat16 case; with a float64 grid, float64 and complex128 tensors are not rounded.
// Conversion to the tensor's dtype follows by rounding to nearest even. For integral tensors
// neither takes place: bool is value != 0, integers truncate toward zero and wrap modulo 2^width,
// NaN and infinities give 0. kInteger stays a 64-bit integer throughout there, so that large ones
// are exact. For a complex tensor the real and imaginary parts are elements 2i and 2i + 1.
struct Fill {
  enum class Kind : std::uint8_t {
    kNormal,
    kUniform,
    kExponent,
    kInteger,
    kChoice,
    kArange,
    kLiteral
  };
  Kind kind = Kind::kNormal;
  std::uint64_t seed = 0;
  double scale = 1;
  double shift = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  int special_rate = 0;             // of 65536
  std::vector<double> values = {};  // specials, choices or literals; NaN and infinities allowed
  std::vector<std::int64_t> integers = {};  // literals of an integral tensor, instead of `values`
  DType grid = DType::kFloat64;             // numbers are representable in it

  bool operator==(const Fill& other) const;  // floats to the bit: NaN is itself
};

// The elements of a tensor, contiguous: floating (or complex: twice as many) as doubles that are
// exactly representable in `dtype`, integral as integers. Exactly one of the two is filled.
struct Elements {
  std::vector<double> reals;
  std::vector<std::int64_t> integers = {};
};

// `salt` selects an input set: 0 is the fill as written, any other value replaces the seed by
// mix(seed ^ salt); kArange and kLiteral do not change. Throws Error when the fill does not fit
// dtype and shape (no values to choose from, a wrong number of literals, an empty range).
Elements generate(const Fill& fill, DType dtype, const Shape& shape, std::uint64_t salt = 0);

// The checks of generate() alone.
void check_fill(const Fill& fill, DType dtype, const Shape& shape);

}  // namespace ulpfuzz
