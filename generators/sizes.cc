#include "generators/sizes.h"

#include <algorithm>
#include <array>
#include <string>

namespace ulpfuzz {
namespace {

// Neighbours of the vector widths of 4 to 64 lanes, where remainders begin.
constexpr std::array<std::int64_t, 7> kSmall = {2, 3, 4, 5, 7, 8, 9};
constexpr std::array<std::int64_t, 6> kMiddle = {15, 16, 17, 31, 32, 33};
constexpr std::array<std::int64_t, 4> kWide = {63, 64, 65, 96};
constexpr std::array<std::int64_t, 5> kLong = {1000, 1023, 1024, 1025, 2049};
constexpr std::array<std::int64_t, 3> kHuge = {4097, 32768, 32773};  // around ATen's grain size

std::int64_t draw_size(Random& random, bool large) {
  switch (random.weighted({46, 36, 13, 5, large ? 60.0 : 0.0})) {
    case 0:
      return random.pick(kSmall);
    case 1:
      return random.pick(kMiddle);
    case 2:
      return random.pick(kWide);
    case 3:
      return random.pick(kLong);
    default:
      return random.pick(kHuge);
  }
}

std::string symbol(std::size_t index) { return "s" + std::to_string(index); }

}  // namespace

Sizes::Sizes(Random& random, std::int64_t max_elements, bool large) : max_elements_(max_elements) {
  const std::int64_t count = random.integer(2, 4);
  // A tight limit may leave fewer sizes than wanted.
  for (int i = 0; i < 200 && static_cast<std::int64_t>(sizes_.size()) < count; ++i) {
    const std::int64_t size = draw_size(random, large);
    const bool known = std::count(sizes_.begin(), sizes_.end(), size) != 0;
    if (size <= max_elements && !known) sizes_.push_back(size);
  }
  if (sizes_.empty()) sizes_.push_back(1);
}

Sizes::Sizes(const std::vector<std::int64_t>& sizes, std::int64_t max_elements)
    : max_elements_(max_elements) {
  for (const std::int64_t size : sizes) {
    if (std::ranges::find(sizes_, size) == sizes_.end()) sizes_.push_back(size);
  }
  if (sizes_.empty()) sizes_.push_back(1);
}

Symbols Sizes::symbols() const {
  Symbols symbols;
  for (std::size_t i = 0; i < sizes_.size(); ++i) symbols[symbol(i)] = sizes_[i];
  return symbols;
}

Dim Sizes::symbolic(std::int64_t size) const {
  const auto at = std::find(sizes_.begin(), sizes_.end(), size);
  if (at == sizes_.end()) return Dim(size);
  return Dim::symbol(symbol(static_cast<std::size_t>(at - sizes_.begin())));
}

Shape Sizes::shape(Random& random, int min_rank, int max_rank) const {
  std::vector<double> weights = {4, 20, 36, 25, 12, 3};
  for (int rank = 0; rank < static_cast<int>(weights.size()); ++rank) {
    if (rank < min_rank || rank > max_rank) weights[static_cast<std::size_t>(rank)] = 0;
  }
  const std::size_t rank = random.weighted(weights);
  Shape result;
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t next = random.chance(0.1) ? 1 : random.pick(sizes_);
    if (elements * next > max_elements_) next = *std::min_element(sizes_.begin(), sizes_.end());
    if (elements * next > max_elements_) next = 1;
    elements *= next;
    result.push_back(next);
  }
  // The large sizes come first otherwise, and the last dimension is the one that gets vectorised.
  if (rank >= 2 && random.chance(0.5)) std::swap(result.front(), result.back());
  return result;
}

}  // namespace ulpfuzz
