#pragma once

#include <cstdint>
#include <vector>

#include "generators/draw.h"
#include "ir/dim.h"

namespace ulpfuzz {

// The few sizes that a program's shapes are made of, so that shapes match often. Each has a symbol:
// s0, s1, ...
class Sizes {
 public:
  Sizes() = default;
  // Near the widths of vector registers mostly. `large`: some around the sizes at which ATen goes
  // parallel. None above `max_elements`, which also bounds the shapes.
  Sizes(Random& random, std::int64_t max_elements, bool large);

  // These sizes, each once.
  Sizes(const std::vector<std::int64_t>& sizes, std::int64_t max_elements);

  Symbols symbols() const;
  Dim symbolic(std::int64_t size) const;  // by its symbol, when it has one
  Shape shape(Random& random, int min_rank, int max_rank) const;

 private:
  std::int64_t max_elements_ = 1;
  std::vector<std::int64_t> sizes_;
};

}  // namespace ulpfuzz
