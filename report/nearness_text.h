#pragma once

#include <string>
#include <vector>

#include "ir/case.h"
#include "judge/nearness.h"

namespace ulpfuzz {

// How near each system is to exact, for people: a sentence for each system and rung, then a table
// with a row for each tensor and system. Outputs carry the name of their node in `c`.
std::string nearness_text(const std::vector<Nearness>& all, const Case& c);

// "output 0" as "output 0 (loss)" where the case has a name for it.
std::string named_tensor(const std::string& tensor, const Case& c);

}  // namespace ulpfuzz
