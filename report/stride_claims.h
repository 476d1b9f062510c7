#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ulpfuzz {

// One dimension in which a tensor is not as compiled code was told.
struct StrideClaim {
  int dim = 0;
  std::int64_t size_found = 0, size_expected = 0;
  std::int64_t stride_found = 0, stride_expected = 0;  // in elements
};

// What Inductor's assert_size_stride says, e.g. "expected size 32==32, stride 96==393216 at dim=1;
// expected size ...": what came stands left, what was compiled for right (torch/csrc, and seen on
// 2.11.0). Empty when the message says no such thing.
std::vector<StrideClaim> stride_claims(std::string_view message);

}  // namespace ulpfuzz
