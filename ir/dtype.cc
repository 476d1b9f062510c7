#include "ir/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

struct DTypeFacts {
  std::string_view name;
  std::int64_t size;
};
// In the order of DType.
constexpr std::array<DTypeFacts, 12> kFacts{{{"bool", 1},
                                             {"uint8", 1},
                                             {"int8", 1},
                                             {"int16", 2},
                                             {"int32", 4},
                                             {"int64", 8},
                                             {"float16", 2},
                                             {"bfloat16", 2},
                                             {"float32", 4},
                                             {"float64", 8},
                                             {"complex64", 8},
                                             {"complex128", 16}}};

const DTypeFacts& facts(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)]; }

constexpr FloatFormat kHalf{11, -14, 65504.0, 0x1p-24, 0x1p-11};
constexpr FloatFormat kBrain{8, -126, 0x1.fep127, 0x1p-133, 0x1p-8};
constexpr FloatFormat kSingle{24, -126, 0x1.fffffep127, 0x1p-149, 0x1p-24};
constexpr FloatFormat kDouble{53, -1022, std::numeric_limits<double>::max(),
                              std::numeric_limits<double>::denorm_min(), 0x1p-53};

}  // namespace

std::string_view name(DType dtype) { return facts(dtype).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].name == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::int64_t item_size(DType dtype) { return facts(dtype).size; }

bool is_floating(DType dtype) { return dtype >= DType::kFloat16 && dtype <= DType::kFloat64; }
bool is_complex(DType dtype) { return dtype >= DType::kComplex64; }
bool is_integral(DType dtype) { return dtype <= DType::kInt64; }

DType real_part(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

DType opmath(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

const FloatFormat& float_format(DType dtype) {
  switch (real_part(dtype)) {
    case DType::kFloat16:
      return kHalf;
    case DType::kBFloat16:
      return kBrain;
    case DType::kFloat32:
      return kSingle;
    case DType::kFloat64:
      return kDouble;
    default:
      throw Error(std::string(name(dtype)) + " is not a floating type");
  }
}

double round_to(DType dtype, double value) {
  const FloatFormat& format = float_format(dtype);
  if (format.precision == 53 || value == 0 || !std::isfinite(value)) return value;
  if (format.precision == 24) return static_cast<double>(static_cast<float>(value));
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const int quantum = exponent - (format.precision - 1);  // spacing of the type's numbers, log2
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  if (std::abs(rounded) > format.max_finite) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return rounded;
}

bool same_bits(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::int64_t min_integer(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return 0;
    case DType::kInt8:
      return std::numeric_limits<std::int8_t>::min();
    case DType::kInt16:
      return std::numeric_limits<std::int16_t>::min();
    case DType::kInt32:
      return std::numeric_limits<std::int32_t>::min();
    case DType::kInt64:
      return std::numeric_limits<std::int64_t>::min();
    default:
      throw Error(std::string(name(dtype)) + " is not an integral type");
  }
}

std::int64_t max_integer(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kUInt8:
      return std::numeric_limits<std::uint8_t>::max();
    case DType::kInt8:
      return std::numeric_limits<std::int8_t>::max();
    case DType::kInt16:
      return std::numeric_limits<std::int16_t>::max();
    case DType::kInt32:
      return std::numeric_limits<std::int32_t>::max();
    case DType::kInt64:
      return std::numeric_limits<std::int64_t>::max();
    default:
      throw Error(std::string(name(dtype)) + " is not an integral type");
  }
}

std::int64_t wrap_to(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? 1 : 0;
    case DType::kUInt8:
      return static_cast<std::uint8_t>(value);
    case DType::kInt8:
      return static_cast<std::int8_t>(value);
    case DType::kInt16:
      return static_cast<std::int16_t>(value);
    case DType::kInt32:
      return static_cast<std::int32_t>(value);
    case DType::kInt64:
      return value;
    default:
      throw Error(std::string(name(dtype)) + " is not an integral type");
  }
}

}  // namespace ulpfuzz
