#pragma once

#include "generators/draw.h"
#include "ir/case.h"

namespace ulpfuzz {

// Gives a case a backward pass: cotangents for floating outputs (random ones mostly, or ones; dense
// or expanded) and some of the inputs that reach them differentiably as wrt. Returns false, and
// leaves the case as it is, where there is no such path, or where autograd may have saved a tensor
// that is later written in place (eager then refuses to go backward).
bool draw_backward(Random& random, const OpTable& table, const Types& types, Case& c);

}  // namespace ulpfuzz
