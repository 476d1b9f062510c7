#include "generators/values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ulpfuzz {
namespace {

constexpr int kAlways = 65536;  // Fill::special_rate counts in parts of this

double power_of_two(Random& random, int low, int high) {
  return std::ldexp(1.0, static_cast<int>(random.integer(low, high)));
}

// Ordinary magnitudes: about three quarters of all floating inputs.
void ordinary(Random& random, Fill& fill) {
  switch (random.weighted({5, 2, 1, 1, 1})) {
    case 0:
      fill.kind = Fill::Kind::kNormal;
      break;
    case 1:
      fill.kind = Fill::Kind::kNormal;
      fill.scale = power_of_two(random, -3, 3);
      break;
    case 2:
      fill.kind = Fill::Kind::kUniform;
      break;
    case 3:
      fill.kind = Fill::Kind::kUniform;
      fill.scale = power_of_two(random, 0, 3);
      fill.shift = -fill.scale / 2;
      break;
    default:  // positive, away from zero
      fill.kind = Fill::Kind::kUniform;
      fill.scale = power_of_two(random, -1, 2);
      fill.shift = 0.5;
  }
}

// The rest: exact ties, cancellation, wide ranges, constants.
void unusual(Random& random, DType dtype, Fill& fill) {
  switch (random.weighted({4, 3, 2, 2, 2, 1, 1})) {
    case 0:  // small integers: sums are exact and ties are real ties
      fill.kind = Fill::Kind::kInteger;
      fill.low = -random.integer(1, 8);
      fill.high = random.integer(1, 8);
      break;
    case 1:
      fill.kind = Fill::Kind::kNormal;
      fill.scale = power_of_two(random, -10, 10);
      break;
    case 2:  // far from zero: differences cancel
      fill.kind = Fill::Kind::kNormal;
      fill.shift = (random.chance(0.5) ? 1 : -1) * power_of_two(random, 2, 7);
      break;
    case 3: {  // wide, but products of two stay finite
      const std::int64_t wide = dtype == DType::kFloat16 ? 7 : 40;
      fill.kind = Fill::Kind::kExponent;
      fill.low = -random.integer(4, wide);
      fill.high = random.integer(2, wide);
      break;
    }
    case 4:
      fill.kind = Fill::Kind::kChoice;
      fill.values = {-1.5, -1, -0.0, 0.0, 0.5, 1, 3};
      fill.values.resize(static_cast<std::size_t>(random.integer(2, 7)));
      break;
    case 5:
      fill.kind = Fill::Kind::kLiteral;
      fill.values = {random.pick(std::array{0.0, 1.0, -1.0, 0.1, 3.0})};
      break;
    default:
      fill.kind = Fill::Kind::kArange;
      fill.scale = power_of_two(random, -4, 0);
      fill.shift = -fill.scale * static_cast<double>(random.integer(0, 16));
  }
}

// Mixes special elements into a fill that takes them (ir/fill.h).
void add_specials(Random& random, DType dtype, std::span<const double> edges,
                  const ValueTaste& taste, Fill& fill) {
  const FloatFormat& format = float_format(dtype);
  if (random.chance(taste.special_share)) {
    for (const double edge : edges) {
      if (std::isfinite(edge) && std::abs(edge) <= format.max_finite) fill.values.push_back(edge);
    }
    if (fill.values.empty() || random.chance(0.3)) {
      fill.values.insert(fill.values.end(), {0.0, -0.0, 1.0, -1.0, 0.5});
    }
    if (random.chance(0.1)) {
      fill.values.insert(fill.values.end(),
                         {std::ldexp(1.0, format.min_exponent), format.min_subnormal,
                          std::ldexp(1.0, -2 * format.precision), std::sqrt(format.max_finite)});
    }
  }
  if (taste.non_finite && random.chance(0.5)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    fill.values.insert(fill.values.end(),
                       {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity});
  }
  if (!fill.values.empty()) {
    fill.special_rate = kAlways >> static_cast<int>(random.integer(2, 6));
  }
}

bool takes_specials(Fill::Kind kind) {
  return kind == Fill::Kind::kNormal || kind == Fill::Kind::kUniform ||
         kind == Fill::Kind::kExponent || kind == Fill::Kind::kInteger;
}

Fill draw_integers(Random& random, DType dtype) {
  Fill fill;
  fill.kind = Fill::Kind::kInteger;
  fill.seed = random.bits();
  if (dtype == DType::kBool) {
    fill.high = 1;
    return fill;
  }
  const std::int64_t low = min_integer(dtype), high = max_integer(dtype);
  const std::int64_t reach = random.pick(std::array<std::int64_t, 4>{3, 10, 10, 100});
  fill.low = std::max(low, random.chance(0.7) ? -reach : std::int64_t{0});
  fill.high = std::min(high, reach);
  if (random.chance(0.12)) {
    // Ends of the range as doubles: those of int64 are not all representable.
    const bool wide = dtype == DType::kInt64;
    fill.values = {static_cast<double>(low), wide ? 0x1p62 : static_cast<double>(high), 0, 1};
    fill.special_rate = kAlways / 16;
  }
  return fill;
}

}  // namespace

Fill draw_fill(Random& random, DType dtype, std::span<const double> edges,
               const ValueTaste& taste) {
  if (is_integral(dtype)) return draw_integers(random, dtype);
  const DType real = real_part(dtype);
  Fill fill;
  fill.seed = random.bits();
  fill.grid = real;
  if (random.chance(0.78)) {
    ordinary(random, fill);
  } else {
    unusual(random, real, fill);
  }
  if (takes_specials(fill.kind)) add_specials(random, real, edges, taste, fill);
  return fill;
}

Scalar draw_number(Random& random, DType dtype) {
  if (dtype == DType::kBool) return {random.chance(0.5)};
  if (is_integral(dtype)) {
    const std::int64_t low = min_integer(dtype) < 0 ? -4 : 0;
    return {random.chance(0.9) ? random.integer(low, 5) : random.integer(low * 16, 100)};
  }
  switch (random.weighted({3, 3, 3, 1})) {
    case 0:
      return {random.integer(-3, 4)};
    case 1:
      return {static_cast<double>(random.integer(-6, 6)) / 2};
    case 2:  // two decimals: not representable, as most numbers in programs
      return {static_cast<double>(random.integer(-300, 300)) / 100};
    default:
      return {random.pick(std::array{1e-6, 1e-5, 1e-12, 0.1, 100.0, 1e4, 1.0 / 3, -0.0})};
  }
}

DType random_floating(Random& random) {
  constexpr std::array kTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16,
                                 DType::kFloat64};
  return kTypes[random.weighted({55, 15, 7, 5})];
}

DType random_integer(Random& random) {
  constexpr std::array kTypes = {DType::kInt64, DType::kInt32, DType::kUInt8, DType::kInt8,
                                 DType::kInt16};
  return kTypes[random.weighted({6, 5, 1.4, 1.3, 1.3})];
}

}  // namespace ulpfuzz
