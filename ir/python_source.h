#pragma once

#include <string>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// The program as the Python function a person would write, on public API, one line a node:
//
//     def program(x, y):
//         a = torch.add(x, y)
//         values, indices = torch.max(a, 1)
//         return values, indices
//
// It is what the Python host compiles and runs, what `show` prints, and what repro.py contains, so
// the three cannot differ. Floats print shortest round-trip; sizes must be bound. Always returns a
// tuple.
std::string python_function(const Program& program, const OpTable& table,
                            const std::string& function_name = "program");

}  // namespace ulpfuzz
