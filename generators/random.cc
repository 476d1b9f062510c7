#include "generators/draw.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15;

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014).
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t Random::bits() {
  state_ += kGamma;
  return mix(state_);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  if (low > high) throw Error("Random::integer: empty range");
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (span == 0) return static_cast<std::int64_t>(bits());
  // Values beyond the largest multiple of the span are drawn again, so that none is favoured.
  const std::uint64_t rest = (UINT64_MAX % span + 1) % span;
  std::uint64_t value = bits();
  while (value > UINT64_MAX - rest) value = bits();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value % span);
}

double Random::unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

std::size_t Random::weighted(const std::vector<double>& weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  if (!(total > 0)) throw Error("Random::weighted: no positive weight");
  double at = unit() * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    if (at < weights[i]) return i;
    at -= weights[i];
    last = i;  // rounding may leave `at` just beyond the last one
  }
  return last;
}

Random Random::fork(std::uint64_t stream) const {
  return Random(mix(seed_ ^ mix(stream * kGamma + 1)));
}

}  // namespace ulpfuzz
