#pragma once

#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"

// The passes, one file each; listed in passes.cc in the order in which they are tried.
namespace ulpfuzz {

// Model configurations: every field towards its smallest value, alone and by halves.
std::vector<Case> config_candidates(const Case& c, const OpTable& table);
// A model case becomes its program, so that nodes can be taken out.
std::vector<Case> lowering_candidates(const Case& c, const OpTable& table);
// Fewer outputs, fewer gradients; outputs moved towards the inputs.
std::vector<Case> output_candidates(const Case& c, const OpTable& table);
// Nodes: a prefix cut off and replaced by inputs, a node replaced by an input or by its operand.
std::vector<Case> node_candidates(const Case& c, const OpTable& table);
// Sizes: a symbol, or every dimension and argument of one size, towards 1.
std::vector<Case> shape_candidates(const Case& c, const OpTable& table);

}  // namespace ulpfuzz
