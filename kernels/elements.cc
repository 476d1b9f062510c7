#include "kernels/elements.h"

#include <algorithm>
#include <cstring>

#include "ir/element.h"
#include "ir/error.h"
#include "oracle/odometer.h"

namespace ulpfuzz {
namespace {

std::uint64_t mix(std::uint64_t z) {  // SplitMix64, as ir/fill.h
  z += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

void set_range(InputElements::Input& input, const Fill& fill) {
  input.low = min_integer(input.dtype);
  input.high = max_integer(input.dtype);
  const auto narrow = [&](const auto& values) {
    const auto [low, high] = std::ranges::minmax(values);
    input.low = static_cast<std::int64_t>(low);
    input.high = static_cast<std::int64_t>(high);
  };
  if (fill.kind == Fill::Kind::kInteger) {
    input.low = std::max(input.low, fill.low);
    input.high = std::min(input.high, fill.high);
  } else if (!fill.integers.empty()) {
    narrow(fill.integers);
  } else if (fill.kind == Fill::Kind::kArange && fill.scale >= 0) {
    input.low = static_cast<std::int64_t>(fill.shift);
    input.high =
        static_cast<std::int64_t>(fill.shift + fill.scale * static_cast<double>(input.count - 1));
  } else if (fill.kind == Fill::Kind::kChoice) {  // divisors are drawn so
    narrow(fill.values);
    input.zero = std::ranges::find(fill.values, 0.0) != fill.values.end();
  }
  if (input.high < input.low) input.high = input.low;
}

// Bits of the significand that a floating dtype stores.
int stored_bits(DType dtype) { return float_format(dtype).precision - 1; }

// The element `bits` with something else about it.
std::uint64_t relative(DType dtype, std::size_t width, std::uint64_t bits, std::uint64_t hash) {
  const std::uint64_t choice = hash & 7, draw = hash >> 8;
  if (is_integral(dtype)) {
    if (choice == 0) return ~bits + 1;
    return choice < 4 ? bits + (draw % 17) - 8 : bits ^ (std::uint64_t{1} << (draw % (8 * width)));
  }
  const int significand = stored_bits(dtype);
  const std::uint64_t mask = (std::uint64_t{1} << significand) - 1;
  const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
  switch (choice) {
    case 0:
      return bits ^ sign;
    case 1:
    case 2:
      return bits + (draw % 17) - 8;
    case 3:  // the exponent a little up or down
      return bits + (((draw % 9) - 4) << significand);
    case 4:  // another exponent
      return (bits & (sign | mask)) | ((draw << significand) & ~(sign | mask));
    default:  // another significand, of some length
      return (bits & ~mask) |
             (draw & (mask >> ((draw >> 54) % static_cast<unsigned>(significand))));
  }
}

}  // namespace

InputElements::InputElements(const Case& lowered) {
  const Case bound = bind_symbols(lowered);
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const InputData& data = bound.inputs[i];
    const ProgramInput& declared = bound.program.inputs[i];
    if (data.alias >= 0) throw Error(declared.name, "shares its storage with another input");
    Shape shape;
    for (const Dim& dim : declared.shape) shape.push_back(dim.value({}));
    const Shape strides = data.strides.empty() ? contiguous_strides(shape) : data.strides;
    Input input;
    input.dtype = real_part(declared.dtype);
    input.width = static_cast<std::size_t>(item_size(input.dtype));
    input.begin = bytes_;
    for (const std::int64_t at : positions(shape, strides, data.offset)) {
      const int parts = is_complex(declared.dtype) ? 2 : 1;
      for (int part = 0; part < parts; ++part) input.positions.push_back(parts * at + part);
    }
    input.count = std::ssize(input.positions);
    for (const std::int64_t at : input.positions) input.storage = std::max(input.storage, at + 1);
    if (is_integral(input.dtype)) set_range(input, data.fill);
    bytes_ += static_cast<std::size_t>(input.count) * input.width;
    inputs_.push_back(std::move(input));
  }
}

void InputElements::expand(std::span<const std::uint8_t> data, std::span<std::byte> whole) const {
  const std::size_t given = std::min(data.size(), bytes_);
  if (given > 0 && reinterpret_cast<const std::byte*>(data.data()) != whole.data()) {
    std::memcpy(whole.data(), data.data(), given);
  }
  for (std::size_t n = 0; n < inputs_.size(); ++n) {
    const Input& input = inputs_[n];
    const std::size_t there = given <= input.begin ? 0 : (given - input.begin) / input.width;
    const auto count = static_cast<std::size_t>(input.count);
    std::byte* const own = whole.data() + input.begin;
    // Whole elements of this width at the beginning of the data.
    const std::size_t known = data.size() / input.width;
    for (std::size_t i = std::min(there, count); i < count; ++i) {
      std::uint64_t bits = 0;
      const std::uint64_t hash = mix(i * 64 + n);
      if (known > 0) {
        std::memcpy(&bits, data.data() + (i + n) % known * input.width, input.width);
      }
      bits = relative(input.dtype, input.width, bits, hash);
      std::memcpy(own + i * input.width, &bits, input.width);
    }
    if (!is_integral(input.dtype)) continue;
    const std::uint64_t span =
        static_cast<std::uint64_t>(input.high) - static_cast<std::uint64_t>(input.low) + 1;
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const at = own + i * input.width;
      std::int64_t value = load_integer(input.dtype, at);
      if (input.dtype == DType::kBool) value = static_cast<int>(*at) & 1;
      if (value < input.low || value > input.high) {
        value = static_cast<std::int64_t>(static_cast<std::uint64_t>(input.low) +
                                          static_cast<std::uint64_t>(value) % span);
      }
      store_integer(input.dtype, value == 0 && !input.zero ? 1 : value, at);
    }
  }
}

Case with_literals(const Case& lowered, const InputElements& elements,
                   std::span<const std::byte> whole) {
  Case c = lowered;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const InputElements::Input& input = elements.inputs()[i];
    Fill fill;
    fill.kind = Fill::Kind::kLiteral;
    fill.grid = is_integral(input.dtype) ? DType::kFloat64 : input.dtype;
    for (std::int64_t e = 0; e < input.count; ++e) {
      const std::byte* const at =
          whole.data() + input.begin + static_cast<std::size_t>(e) * input.width;
      if (is_integral(input.dtype)) {
        fill.integers.push_back(load_integer(input.dtype, at));
      } else {
        fill.values.push_back(load_real(input.dtype, at));
      }
    }
    c.inputs[i].fill = std::move(fill);
  }
  return c;
}

}  // namespace ulpfuzz
