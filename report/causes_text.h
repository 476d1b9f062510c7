#pragma once

#include <string>

#include "ir/case.h"
#include "judge/causes.h"

namespace ulpfuzz {

// Why a system differs, for people: what was established, a line each, then the tensors.
std::string causes_text(const Causes& causes, const Case& c);

}  // namespace ulpfuzz
