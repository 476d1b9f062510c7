#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "oracle/interpreter.h"

// What executions that are put together from outside share: legal ones, drawn at random
// (oracle/legal.cc), and replays under given decisions (oracle/replay.h).
namespace ulpfuzz::execution {

inline bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

inline std::uint64_t mix(std::uint64_t z) {  // SplitMix64's output function, as in ir/fill.h
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
inline std::uint64_t draw(std::uint64_t key, std::uint64_t index) {
  return mix(key + (index + 1) * 0x9E3779B97F4A7C15);
}
inline double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// A bell curve of unit variance from eight 16-bit pieces; within 4.9 standard deviations.
inline double bell(std::uint64_t key, std::uint64_t index) {
  std::int64_t sum = -8 * 65535 / 2;
  for (const std::uint64_t bits : {draw(key, 2 * index), draw(key, 2 * index + 1)}) {
    for (int piece = 0; piece < 64; piece += 16)
      sum += static_cast<std::int64_t>(bits >> piece & 0xFFFF);
  }
  // The variance of the sum is 8 (2^32 - 1) / 12.
  return static_cast<double>(sum) * 0x1.3988e1409212ep-16;  // sqrt(12 / 8) / 2^16
}

// Rounds to the nearest number of a half type, ties to even; the common case by integer arithmetic
// on double's bits.
class HalfRounding {
 public:
  explicit HalfRounding(DType dtype)
      : dtype_(dtype),
        drop_(53 - float_format(dtype).precision),
        largest_(float_format(dtype).max_finite),
        smallest_(std::ldexp(1.0, float_format(dtype).min_exponent)) {}

  double operator()(double value) const {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t lowest = bits >> drop_ & 1;
    const std::uint64_t rounded =
        (bits + ((std::uint64_t{1} << (drop_ - 1)) - 1 + lowest)) >> drop_ << drop_;
    const double result = std::bit_cast<double>(rounded);
    const bool ordinary = std::fabs(result) <= largest_ && std::fabs(value) >= smallest_;
    return ordinary ? result : round_to(dtype_, value);
  }

 private:
  DType dtype_;
  int drop_;
  double largest_, smallest_;  // of normal numbers
};

// A contiguous copy of a half-typed value, rounded to its dtype.
Tensor<double> rounded_half(const Tensor<double>& value);

inline bool is_product(const Plan::Step& step) { return step.op->name().starts_with("aten.mul."); }

// Elements in row-major order, two for a complex one; float32 values as float32 holds them.
std::vector<double> elements(const Tensor<double>& value);

// Records the error that each step adds on its own, element by element in row-major order. A step
// that is one correctly rounded operation adds none: its rounding is done when its result is
// stored, and exact results (of half-typed numbers, halfway between two others) are common.
class LocalErrors : public Policy<Running<double>> {
 public:
  explicit LocalErrors(int slots) : errors_(static_cast<std::size_t>(slots)) {}

  void finish(const Plan::Step& step, int slot, Tensor<Running<double>>& result) override;
  // Empty: none.
  const std::vector<double>& of(int slot) const { return errors_[static_cast<std::size_t>(slot)]; }

 private:
  std::vector<std::vector<double>> errors_;
};

}  // namespace ulpfuzz::execution
