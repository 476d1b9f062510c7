#pragma once

#include <string>
#include <vector>

#include "ir/op_row.h"
#include "ir/program.h"

namespace ulpfuzz {

// The program without nodes that no output depends on, by value or through a write into something
// that an output depends on. With `keep_input_writes`, writes into program inputs are outputs too.
Program without_dead_code(const Program& program, const OpTable& table,
                          bool keep_input_writes = true);

// The program without inputs that no node or output uses. `kept` gets the indices of those left.
Program without_unused_inputs(const Program& program, std::vector<std::size_t>& kept);

// The same function without mutation: each in-place node becomes its out-of-place operator (same
// name without the underscore), later uses see the new value, and live views of the written tensor
// are taken again from it. Inputs that were written are returned as additional outputs, listed in
// `written_inputs` in that order.
struct Functional {
  Program program;
  std::vector<std::string> written_inputs;
};
Functional functionalise(const Program& program, const OpTable& table);

// A name that is not in the program yet: `stem`, or `stem_2`, `stem_3`, ...
std::string fresh_name(const Program& program, const std::string& stem);

}  // namespace ulpfuzz
