#pragma once

#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"

// The passes, one file each; listed in passes.cc in the order in which they are tried.
namespace ulpfuzz {

// All fields of a large model's or module's configuration at once.
std::vector<Case> leap_candidates(const Case& c, const OpTable& table);
// Model configurations: every field towards its smallest value, alone and in pairs.
std::vector<Case> config_candidates(const Case& c, const OpTable& table);
// A model case becomes its program, so that nodes can be taken out.
std::vector<Case> lowering_candidates(const Case& c, const OpTable& table);
// Fewer outputs, fewer gradients; outputs moved towards the inputs.
std::vector<Case> output_candidates(const Case& c, const OpTable& table);
// One node of each kind (operator and dtypes) alone.
std::vector<Case> kind_candidates(const Case& c, const OpTable& table);
// Halves, quarters and eighths of a large program.
std::vector<Case> range_candidates(const Case& c, const OpTable& table);
// Nodes: a part alone, a part left out, what leads to one node; what is missing becomes inputs.
std::vector<Case> node_candidates(const Case& c, const OpTable& table);
// Sizes: all at once, a symbol, or every dimension and argument of one size, towards 1; parts of
// the elements as they are.
std::vector<Case> shape_candidates(const Case& c, const OpTable& table);
// Operands as Python numbers.
std::vector<Case> constant_candidates(const Case& c, const OpTable& table);
// Dtypes towards float32 and int64.
std::vector<Case> dtype_candidates(const Case& c, const OpTable& table);
// Inputs and cotangents contiguous, at the start of a storage of their own.
std::vector<Case> layout_candidates(const Case& c, const OpTable& table);
// Arguments at their defaults.
std::vector<Case> argument_candidates(const Case& c, const OpTable& table);
// The plainest operators of their kinds.
std::vector<Case> operator_candidates(const Case& c, const OpTable& table);
// Switches of the environment at their defaults.
std::vector<Case> environment_candidates(const Case& c, const OpTable& table);
// Elements: plain rules, a single number, zeros and ones.
std::vector<Case> value_candidates(const Case& c, const OpTable& table);
// Literals and numbers of arguments: small integers, few bits, few distinct.
std::vector<Case> number_candidates(const Case& c, const OpTable& table);
// Short names in order.
std::vector<Case> name_candidates(const Case& c, const OpTable& table);

}  // namespace ulpfuzz
