#pragma once

#include <span>

#include "generators/draw.h"
#include "ir/fill.h"

namespace ulpfuzz {

// How daring the elements of an input are.
struct ValueTaste {
  double special_share = 0.3;  // of floating inputs: some elements are edges
  bool non_finite = false;     // NaN and infinities are among the edges
};

// Elements for an input of `dtype`, mostly of ordinary magnitude. `edges` are those of the operator
// that will read it. Floating numbers are representable in `dtype`, so that they stay the same
// numbers on a wider rung.
Fill draw_fill(Random& random, DType dtype, std::span<const double> edges, const ValueTaste& taste);

// A Python number that goes with a tensor of `dtype`: small integers and halves, other ordinary
// numbers, now and then one that is tiny, large or not representable.
Scalar draw_number(Random& random, DType dtype);

// Weighted as people use them; `random_floating` is float32 for more than half.
DType random_floating(Random& random);
DType random_integer(Random& random);  // bool is not among them

}  // namespace ulpfuzz
