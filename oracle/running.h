#pragma once

// The vocabulary of oracle kernels, for double and Running numbers alike (oracle/scalar.h lists
// it).
#include "oracle/arithmetic.h"
#include "oracle/functions.h"
#include "oracle/integers.h"
