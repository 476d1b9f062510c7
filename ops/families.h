#pragma once

#include <span>

#include "ir/op_row.h"

// Every family of rows: NAME here is `std::span<const OpRow> NAME_rows()`, defined in ops/NAME.cc.
// The order is that of OpTable::ops(), by which generators draw: append, so that seeds keep their
// cases.
#define ULPFUZZ_FAMILIES(FAMILY) \
  FAMILY(view)                   \
  FAMILY(rearrange)              \
  FAMILY(repeat)                 \
  FAMILY(split)                  \
  FAMILY(unary)                  \
  FAMILY(numeric)                \
  FAMILY(activation)             \
  FAMILY(activation_backward)    \
  FAMILY(arithmetic)             \
  FAMILY(division)               \
  FAMILY(power)                  \
  FAMILY(selection)              \
  FAMILY(compare)                \
  FAMILY(bitwise)                \
  FAMILY(inplace)                \
  FAMILY(fill)                   \
  FAMILY(gather)                 \
  FAMILY(index)                  \
  FAMILY(join)                   \
  FAMILY(matmul)                 \
  FAMILY(attention)              \
  FAMILY(softmax)                \
  FAMILY(norm)                   \
  FAMILY(loss)                   \
  FAMILY(cast)                   \
  FAMILY(create)                 \
  FAMILY(fft)                    \
  FAMILY(reduce_sum)             \
  FAMILY(reduce_extremum)        \
  FAMILY(reduce_moments)         \
  FAMILY(order)                  \
  FAMILY(random)                 \
  FAMILY(convolution)

namespace ulpfuzz {

#define ULPFUZZ_DECLARE(name) std::span<const OpRow> name##_rows();
ULPFUZZ_FAMILIES(ULPFUZZ_DECLARE)
#undef ULPFUZZ_DECLARE

}  // namespace ulpfuzz
