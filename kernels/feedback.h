#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/check.h"
#include "kernels/elements.h"

namespace ulpfuzz {

// Counters beside those of branches, for a fuzzer to keep what no branch tells: which kinds of
// numbers an operand has had, alone and beside the next operand, how far from exact a result has
// been for an operand of each kind, and how near to its bound.
class Feedback {
 public:
  static constexpr std::size_t kSize = 4096;  // a fuzzer walks over all of them each time

  explicit Feedback(const InputElements& elements)
      : elements_(elements), classes_(elements.inputs().size()) {}

  void operands(std::span<const std::byte> whole, std::span<std::uint8_t> counters);
  // `subject`: which of several implementations, each of which has something to learn.
  void distances(const std::vector<KernelCheck::Distance>& distances, std::size_t subject,
                 std::span<std::uint8_t> counters) const;
  // `share`: an error in units of its bound.
  static void bound(double share, std::span<std::uint8_t> counters);

 private:
  static constexpr std::size_t kClasses = 24;
  // Operands, pairs of them and outputs of subjects beyond these share the counters of others.
  static constexpr std::size_t kMostInputs = 4, kMostPairs = 2, kMostOutputs = 3;
  // Where each kind of counter begins.
  static constexpr std::size_t kPairs = kMostInputs * kClasses;
  static constexpr std::size_t kDistances = kPairs + kMostPairs * kClasses * kClasses;
  static constexpr std::size_t kBounds =
      kDistances + kMostOutputs * kClasses * KernelCheck::kOctaves;
  static constexpr std::size_t kBoundSteps = 128;
  static_assert(kBounds + kBoundSteps <= kSize);

  const InputElements& elements_;
  std::vector<std::vector<std::uint8_t>> classes_;  // of each operand's elements
};

}  // namespace ulpfuzz
