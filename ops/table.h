#pragma once

#include "ir/op_row.h"

namespace ulpfuzz {

// All operators: the rows of pointwise.cc, reduce.cc, ... A new family of rows is one line in
// table.cc.
const OpTable& op_table();

}  // namespace ulpfuzz
