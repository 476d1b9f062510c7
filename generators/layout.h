#pragma once

#include "generators/draw.h"
#include "ir/case.h"

namespace ulpfuzz {

// Puts the elements of an input somewhere else than one behind the other: storage transposed or
// permuted (channels last), gaps between rows, a first element that is not the storage's first,
// odd strides for dimensions of size 1. With `may_expand` also strides of 0, where many logical
// elements are one in memory: not for an input that is written.
void draw_layout(Random& random, const Shape& shape, bool may_expand, InputData& data);

// Whether each logical element has a place of its own in memory. Sufficient, not necessary:
// dimensions sorted by stride must each step over all that lies within.
bool is_non_overlapping(const Shape& shape, const Shape& strides);

}  // namespace ulpfuzz
