#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "generators/draw.h"
#include "ir/op_row.h"
#include "ir/program.h"
#include "kernels/elements.h"

namespace ulpfuzz {

// Changes elements as numbers, where a fuzzer's own mutations know bytes alone: edges of the
// operators and of the format, ulps, exponents, signs, multiples of another operand and what lies
// next to them, and runs of elements that walk away from one.
class ElementMutator {
 public:
  // Refers to `elements`. Edges and Python numbers come from the program.
  ElementMutator(const Program& program, const OpTable& table, const InputElements& elements);

  // One mutation of `whole` (elements.bytes() bytes, in range afterwards).
  void mutate(std::span<std::byte> whole, std::uint64_t seed) const;

 private:
  void mutate_reals(const InputElements::Input& input, std::span<std::byte> whole,
                    Random& random) const;
  void mutate_integers(const InputElements::Input& input, std::span<std::byte> whole,
                       Random& random) const;
  double edge(DType dtype, Random& random) const;
  double other_operand(std::int64_t at, std::span<const std::byte> whole, Random& random) const;

  const InputElements& elements_;
  std::vector<std::size_t> changeable_;  // inputs with elements
  std::vector<double> edges_, numbers_;
};

}  // namespace ulpfuzz
