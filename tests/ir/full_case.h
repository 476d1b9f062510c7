#pragma once

#include "ir/case.h"

namespace ulpfuzz {

// A case with every kind of argument, fill and literal. It does not verify.
Case full_case();

}  // namespace ulpfuzz
