#pragma once

#include <string>
#include <vector>

#include "ir/op_row.h"
#include "ir/program.h"

namespace ulpfuzz {

// A few operators with ATen's schemas and just enough type rules and derivatives for the tests of
// this room, which does not know the real table.
const OpTable& small_table();

// A node in one line.
Node node(std::string name, std::string op, std::vector<NamedArgument> args);

// One line a node, "c = aten.add.Tensor(self=a, other=b)", and one for the outputs: for asserting
// what a rewrite made.
std::string text(const Program& program);

}  // namespace ulpfuzz
