#pragma once

#include <optional>
#include <string>

#include "ir/call.h"
#include "ir/case.h"
#include "ir/op_row.h"

// Edits that leave a case consistent. Passes change the program; these follow up with inputs,
// layouts, cotangents and gradients.
namespace ulpfuzz {

// After nodes or outputs were changed: dead code and unused inputs go, with their data and their
// places in `wrt`; cotangents are kept by output position and dropped where none is possible.
// Nothing when the result does not verify or has no output.
std::optional<Case> tidy(Case c, const OpTable& table);

// The same case with other outputs, each with the cotangent that `cotangent_of` (an index into the
// old outputs, or -1 for a fresh bell curve) says.
struct KeptOutput {
  Ref value;
  int cotangent_of = -1;
};
Case with_outputs(const Case& c, const std::vector<KeptOutput>& outputs, const Types& types);

// A value becomes an input with the given elements; its node is left for tidy() to remove.
Case with_input(const Case& c, const Ref& value, const TensorType& type, const Fill& fill);

// Strides for a new shape with the character of the old layout: the same order of dimensions in
// memory, expanded dimensions still expanded, gaps left out.
Shape strides_like(const Shape& old_strides, const Shape& old_shape, const Shape& shape);

// A literal fill cut down to the leading corner of a smaller shape of the same rank; other fills
// are returned as they are.
Fill fill_like(const Fill& fill, const Shape& old_shape, const Shape& shape);

}  // namespace ulpfuzz
