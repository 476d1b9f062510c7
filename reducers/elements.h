#pragma once

#include <optional>

#include "ir/dim.h"
#include "ir/dtype.h"
#include "ir/fill.h"

namespace ulpfuzz {

// A box of a tensor's elements: `shape` elements from `first` on, in each dimension.
struct Box {
  Shape first;
  Shape shape;
};

// The elements of the box as literals, so that a smaller tensor can hold the very numbers that
// fail. Nothing when they are more than a report should carry, or the fill does not fit the shape.
std::optional<Fill> literal_part(const Fill& fill, DType dtype, const Shape& shape, const Box& box);

// How far a fill is from the plainest one, for the order of cases: literals count by number and
// plainness, rules by their parameters.
std::int64_t fill_weight(const Fill& fill);

}  // namespace ulpfuzz
