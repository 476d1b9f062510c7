#pragma once

#include <cstdint>

namespace ulpfuzz {

// What one item may use of a machine.
struct Limits {
  double cpu_seconds = 60;    // compilation included
  double wall_seconds = 600;  // a generous backstop: a loaded machine makes no hangs
  std::int64_t memory_bytes = std::int64_t{8} << 30;
};

}  // namespace ulpfuzz
