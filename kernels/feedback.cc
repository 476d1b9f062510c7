#include "kernels/feedback.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/element.h"

namespace ulpfuzz {
namespace {

// Zero, infinity, NaN, and magnitudes in nine steps, each with a sign: below 24.
std::uint8_t real_class(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int sign = static_cast<int>(bits >> 63);
  const int exponent = static_cast<int>((bits >> 52) & 0x7FF) - 1023;
  int size = 0;
  if (x == 0) {
    size = 0;
  } else if (exponent == 1024) {
    size = std::isnan(x) ? 2 : 1;
  } else {
    constexpr int kSteps[] = {-126, -64, -24, -8, 0, 8, 24, 64};
    size = 3;
    for (const int step : kSteps) size += exponent >= step ? 1 : 0;
  }
  return static_cast<std::uint8_t>(2 * size + sign);
}

std::uint8_t integer_class(std::int64_t x) {
  const std::uint64_t size =
      x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const int width = static_cast<int>(std::bit_width(size));
  return static_cast<std::uint8_t>(2 * std::min((width + 5) / 6, 11) + (x < 0 ? 1 : 0));
}

}  // namespace

void Feedback::operands(std::span<const std::byte> whole, std::span<std::uint8_t> counters) {
  for (std::size_t n = 0; n < classes_.size(); ++n) {
    const InputElements::Input& input = elements_.inputs()[n];
    std::vector<std::uint8_t>& classes = classes_[n];
    classes.resize(static_cast<std::size_t>(input.count));
    const std::byte* at = whole.data() + input.begin;
    for (std::uint8_t& of : classes) {
      of = is_integral(input.dtype) ? integer_class(load_integer(input.dtype, at))
                                    : real_class(load_real(input.dtype, at));
      counters[n % kMostInputs * kClasses + of] = 1;
      at += input.width;
    }
    if (n == 0) continue;
    const std::vector<std::uint8_t>& before = classes_[n - 1];
    for (std::size_t i = 0; i < std::min(classes.size(), before.size()); ++i) {
      counters[kPairs + ((n - 1) % kMostPairs * kClasses + before[i]) * kClasses + classes[i]] = 1;
    }
  }
}

void Feedback::distances(const std::vector<KernelCheck::Distance>& distances, std::size_t subject,
                         std::span<std::uint8_t> counters) const {
  if (classes_.empty()) return;
  const std::vector<std::uint8_t>& classes = classes_.front();
  for (const KernelCheck::Distance& d : distances) {
    const auto element = static_cast<std::size_t>(d.element);
    const std::size_t of = element < classes.size() ? classes[element] : 0;
    counters[kDistances +
             ((static_cast<std::size_t>(d.output) + subject) % kMostOutputs * kClasses + of) *
                 KernelCheck::kOctaves +
             static_cast<std::size_t>(d.octave)] = 1;
  }
}

void Feedback::bound(double share, std::span<std::uint8_t> counters) {
  if (!(share > 0)) return;
  const double steps = std::clamp(8 * std::log2(share) + 96, 0.0, double{kBoundSteps - 1});
  counters[kBounds + static_cast<std::size_t>(steps)] = 1;
}

}  // namespace ulpfuzz
