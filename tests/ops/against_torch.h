#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/run.h"
#include "oracle/oracle.h"

namespace ulpfuzz {

// What a comparison of torch's results with the exact ones found.
struct Comparison {
  std::vector<std::string> faults;  // in words, the first of each tensor
  std::int64_t compared = 0;        // elements that were held against a finite bound
  std::int64_t masked = 0;          // elements where anything goes
  double worst = 0;                 // largest error over its bound
};

// Names, presence, dtypes and shapes must be equal, and every element within its bound.
Comparison compare(const Run& run, const Exact& exact);

}  // namespace ulpfuzz
