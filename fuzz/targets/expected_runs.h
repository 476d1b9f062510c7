#pragma once

#include <vector>

#include "systems/result.h"

namespace ulpfuzz {

// What parse_result.cc takes to have been asked for: two items, one with gradients.
inline const std::vector<ExpectedRun>& expected_runs() {
  using Role = TensorResult::Role;
  static const std::vector<ExpectedRun> runs{
      {{0, 1}, {{Role::kOutput, "output 0"}, {Role::kGradient, "gradient of x"}}},
      {{7}, {{Role::kOutput, "output 0"}}}};
  return runs;
}

}  // namespace ulpfuzz
