#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/call.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// How a write through a view becomes a new value of what it views.
//
// The operator that takes a view back to its base: transpose for transpose, select_scatter for
// select. Empty when there is none, or the table lacks it: such a view cannot be written.
std::string inverse_view(std::string_view view_op, const OpTable& table);

// The arguments of that operator: `view` is the view's call, `base` what it was taken of, as it is
// now, `written` the view's new value. Empty when base and view are the same element for element
// (a squeeze that removes nothing).
std::vector<NamedArgument> inverse_arguments(const Call& view, const Ref& base, const Ref& written);

}  // namespace ulpfuzz
