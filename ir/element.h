#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ir/dtype.h"

// One element of a storage, as torch stores it (little-endian), as a number and back.
namespace ulpfuzz {

namespace internal {

template <class T>
T loaded(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void stored(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

inline double from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int significand = bits & 0x3FF;
  double value = exponent == 31 ? (significand != 0 ? NAN : HUGE_VAL)
                 : exponent == 0
                     ? significand * 0x1p-24
                     : (significand + 1024) *
                           std::bit_cast<double>(static_cast<std::uint64_t>(exponent - 25 + 1023)
                                                 << 52);
  return (bits & 0x8000) != 0 ? -value : value;
}

// Of a number of the format: nothing is rounded.
inline std::uint16_t to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7E00;
  if (std::isinf(value)) return sign | 0x7C00;
  if (size < 0x1p-14) return static_cast<std::uint16_t>(sign | static_cast<int>(size * 0x1p24));
  const int exponent = std::ilogb(size);
  const int significand = static_cast<int>(std::ldexp(size, 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | (exponent + 15) << 10 | significand);
}

}  // namespace internal

// Of a floating dtype; exact.
inline double load_real(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kFloat16:
      return internal::from_half(internal::loaded<std::uint16_t>(at));
    case DType::kBFloat16:
      return std::bit_cast<float>(std::uint32_t{internal::loaded<std::uint16_t>(at)} << 16);
    case DType::kFloat32:
      return internal::loaded<float>(at);
    default:
      return internal::loaded<double>(at);
  }
}

// Of an integral dtype; bool is 0 or 1.
inline std::int64_t load_integer(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kBool:
      return internal::loaded<std::uint8_t>(at) != 0 ? 1 : 0;
    case DType::kUInt8:
      return internal::loaded<std::uint8_t>(at);
    case DType::kInt8:
      return internal::loaded<std::int8_t>(at);
    case DType::kInt16:
      return internal::loaded<std::int16_t>(at);
    case DType::kInt32:
      return internal::loaded<std::int32_t>(at);
    default:
      return internal::loaded<std::int64_t>(at);
  }
}

// The nearest number of the floating dtype.
inline void store_real(DType dtype, double value, std::byte* at) {
  const double rounded = round_to(dtype, value);
  switch (dtype) {
    case DType::kFloat16:
      return internal::stored(internal::to_half(rounded), at);
    case DType::kBFloat16:
      return internal::stored(
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(rounded)) >> 16),
          at);
    case DType::kFloat32:
      return internal::stored(static_cast<float>(rounded), at);
    default:
      return internal::stored(rounded, at);
  }
}

// Modulo 2^width; bool is value != 0.
inline void store_integer(DType dtype, std::int64_t value, std::byte* at) {
  const std::int64_t wrapped = wrap_to(dtype, value);
  switch (item_size(dtype)) {
    case 1:
      return internal::stored(static_cast<std::uint8_t>(wrapped), at);
    case 2:
      return internal::stored(static_cast<std::int16_t>(wrapped), at);
    case 4:
      return internal::stored(static_cast<std::int32_t>(wrapped), at);
    default:
      return internal::stored(wrapped, at);
  }
}

}  // namespace ulpfuzz
