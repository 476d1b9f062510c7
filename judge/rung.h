#pragma once

#include <string>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// The narrowest floating dtype that takes part in a case (inputs and dtype arguments); float32 when
// none does.
DType narrowest_floating(const Case& c);

}  // namespace ulpfuzz
