#pragma once

#include <string>

#include "ir/call.h"
#include "ir/op_row.h"
#include "ir/program.h"

namespace ulpfuzz {

// The part of verify() that is about mutation: every write has one meaning, whatever the layouts,
// and functionalise() knows how to express it. Throws Error at "/nodes/i" after `place`.
void check_writes(const Program& program, const OpTable& table, const Types& types,
                  const std::string& place);

}  // namespace ulpfuzz
