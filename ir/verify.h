#pragma once

#include "ir/call.h"
#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// Checks a program against the operator table: names are unique identifiers, references are defined
// before use, arguments fit their schemas, type rules accept, and mutation is of a kind whose
// meaning does not depend on a layout: the written tensor is not an expanded view, and no value
// that may or may not share its storage (reshape, contiguous, expand, `.to`) is used afterwards.
// Returns the type of every value. Throws Error whose place is a JSON pointer ("/nodes/3/args/dim")
// after `place`.
Types verify(const Program& program, const OpTable& table, const std::string& place = "");

// The same for a whole case: layouts fit shapes and do not overlap where written, wrt names
// floating inputs, cotangents match floating outputs, fills fit dtypes.
Types verify(const Case& c, const OpTable& table, const std::string& place = "");

}  // namespace ulpfuzz
