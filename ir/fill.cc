#include "ir/fill.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Kind = Fill::Kind;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// low + bits mod (high - low + 1), modulo 2^64; a span of 2^64 leaves the bits as they are.
std::int64_t in_range(std::uint64_t bits, std::int64_t low, std::int64_t high) {
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) +
                                   (span == 0 ? bits : bits % span));
}

double normal(std::uint64_t h, const Fill& fill) {
  const std::int64_t sum = static_cast<std::int64_t>((h & 0xFFFF) + ((h >> 16) & 0xFFFF) +
                                                     ((h >> 32) & 0xFFFF) + (h >> 48));
  return static_cast<double>(sum - 131070) * fill.scale * 0x1p-15 * 0.8660254037844386 + fill.shift;
}

double exponent(std::uint64_t h, const Fill& fill) {
  const double significand = 1 + static_cast<double>((h >> 12) & 0xFFFFF) * 0x1p-20;
  const auto e = static_cast<int>(in_range(h >> 32, fill.low, fill.high));
  return std::ldexp((h & 1) != 0 ? -significand : significand, e);
}

std::int64_t to_integer(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (!std::isfinite(value)) return 0;
  const double wrapped = std::fmod(std::trunc(value), 0x1p64);  // exact
  const auto magnitude = static_cast<std::uint64_t>(std::abs(wrapped));
  const std::uint64_t bits = wrapped < 0 ? std::uint64_t{0} - magnitude : magnitude;
  return wrap_to(dtype, static_cast<std::int64_t>(bits));
}

// Draws element after element for one tensor.
class Filler {
 public:
  Filler(const Fill& fill, DType dtype, std::int64_t count, std::uint64_t salt)
      : fill_(fill), dtype_(dtype), seed_(salt == 0 ? fill.seed : mix(fill.seed ^ salt)) {
    check(count);
  }

  double real(std::int64_t i) const {
    double value = 0;
    if (!special(i, value)) value = plain(i);
    const DType real = real_part(dtype_);
    if (real != DType::kFloat64 || fill_.grid != DType::kFloat64) {
      value = static_cast<double>(static_cast<float>(value));
      if (float_format(fill_.grid).precision < 24) value = round_to(fill_.grid, value);
    }
    return round_to(real, value);
  }

  std::int64_t integer(std::int64_t i) const {
    if (fill_.kind == Kind::kLiteral && !fill_.integers.empty()) {
      const std::size_t index = fill_.integers.size() == 1 ? 0 : static_cast<std::size_t>(i);
      return wrap_to(dtype_, fill_.integers[index]);
    }
    double value = 0;
    if (special(i, value)) return to_integer(dtype_, value);
    if (fill_.kind == Kind::kInteger) {
      return wrap_to(dtype_, in_range(hash(i) >> 1, fill_.low, fill_.high));
    }
    return to_integer(dtype_, plain(i));
  }

 private:
  std::uint64_t hash(std::int64_t i) const {
    return mix(seed_ + (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15);
  }

  bool may_be_special() const {
    return fill_.special_rate > 0 &&
           (fill_.kind == Kind::kNormal || fill_.kind == Kind::kUniform ||
            fill_.kind == Kind::kExponent || fill_.kind == Kind::kInteger);
  }

  bool special(std::int64_t i, double& value) const {
    if (!may_be_special()) return false;
    const std::uint64_t h2 = mix(hash(i) ^ seed_);
    if (static_cast<std::int64_t>(h2 & 0xFFFF) >= fill_.special_rate) return false;
    value = fill_.values[(h2 >> 16) % fill_.values.size()];
    return true;
  }

  double plain(std::int64_t i) const {
    switch (fill_.kind) {
      case Kind::kNormal:
        return normal(hash(i), fill_);
      case Kind::kUniform:
        return fill_.shift + fill_.scale * (static_cast<double>(hash(i) >> 11) * 0x1p-53);
      case Kind::kExponent:
        return exponent(hash(i), fill_);
      case Kind::kInteger:
        return static_cast<double>(in_range(hash(i) >> 1, fill_.low, fill_.high));
      case Kind::kChoice:
        return fill_.values[(hash(i) >> 1) % fill_.values.size()];
      case Kind::kArange:
        return fill_.shift + fill_.scale * static_cast<double>(i);
      case Kind::kLiteral:
        return fill_.values[fill_.values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    }
    throw Error("unknown kind of fill");
  }

  void check(std::int64_t count) const {
    if (is_integral(fill_.grid) || is_complex(fill_.grid)) {
      throw Error("the fill's grid is " + std::string(name(fill_.grid)) + ", not a floating type");
    }
    if ((may_be_special() || fill_.kind == Kind::kChoice) && fill_.values.empty()) {
      throw Error("the fill has no values to choose from");
    }
    if (fill_.special_rate < 0 || fill_.special_rate > 65536) {
      throw Error("the fill's special_rate is not in [0, 65536]");
    }
    const bool ranged = fill_.kind == Kind::kExponent || fill_.kind == Kind::kInteger;
    if (ranged && fill_.low > fill_.high) throw Error("the fill's low is above its high");
    if (fill_.kind == Kind::kExponent && (fill_.low < -1074 || fill_.high > 1023)) {
      throw Error("the fill's exponents are not in [-1074, 1023]");
    }
    if (fill_.kind == Kind::kLiteral) check_literals(count);
  }

  void check_literals(std::int64_t count) const {
    if (!fill_.integers.empty() && !is_integral(dtype_)) {
      throw Error("integer literals fill a tensor of " + std::string(name(dtype_)));
    }
    if (!fill_.integers.empty() && !fill_.values.empty()) {
      throw Error("the fill has both values and integers");
    }
    const std::size_t given = fill_.values.size() + fill_.integers.size();
    if (given != 1 && static_cast<std::int64_t>(given) != count) {
      throw Error(std::to_string(given) + " literals for " + std::to_string(count) + " elements");
    }
  }

  const Fill& fill_;
  DType dtype_;
  std::uint64_t seed_;
};

std::int64_t number_count(DType dtype, const Shape& shape) {
  return element_count(shape) * (is_complex(dtype) ? 2 : 1);
}

}  // namespace

bool Fill::operator==(const Fill& other) const {
  return kind == other.kind && seed == other.seed && same_bits(scale, other.scale) &&
         same_bits(shift, other.shift) && low == other.low && high == other.high &&
         special_rate == other.special_rate && integers == other.integers && grid == other.grid &&
         std::equal(values.begin(), values.end(), other.values.begin(), other.values.end(),
                    same_bits);
}

Elements generate(const Fill& fill, DType dtype, const Shape& shape, std::uint64_t salt) {
  const std::int64_t count = number_count(dtype, shape);
  const Filler filler(fill, dtype, count, salt);
  Elements elements;
  if (is_integral(dtype)) {
    elements.integers.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) elements.integers.push_back(filler.integer(i));
  } else {
    elements.reals.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) elements.reals.push_back(filler.real(i));
  }
  return elements;
}

void check_fill(const Fill& fill, DType dtype, const Shape& shape) {
  const Filler filler(fill, dtype, number_count(dtype, shape), 0);
}

}  // namespace ulpfuzz
