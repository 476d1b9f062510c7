#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// Faults that tests plant into a system (option `fault` of its spec, "name" or "name=value"), to
// see that they are found. Faults of the program are planted here, before the case is sent; faults
// of the process and of the results by the worker itself.
struct FaultKind {
  std::string_view name;  // "attn-scale"
  bool in_program;
  std::string_view meaning;  // "multiplies every attention scale by the value"
};
std::span<const FaultKind> fault_kinds();

// The kind of "name" or "name=value". Throws Error for an unknown name, and for a value that is
// missing, not a number, or given where none belongs.
const FaultKind& fault_kind(std::string_view fault);

// The case with the fault in its program; unchanged for a fault of the worker. Throws Error for an
// unknown fault or value. `planted` says whether the program had a place for it.
Case plant(const Case& lowered, std::string_view fault, const OpTable& table, bool& planted);

}  // namespace ulpfuzz
