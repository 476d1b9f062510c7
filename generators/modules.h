#pragma once

#include <string>

#include "generators/draw.h"
#include "ir/case.h"

namespace ulpfuzz {

// A configuration of a library's module (ir/modules.h) that the library takes: sizes from one
// upwards, of at most 64 positions, grouped heads, the features of its family on and off, any
// dtype.
ModuleConfig draw_module(Random& random, const std::string& name);

}  // namespace ulpfuzz
