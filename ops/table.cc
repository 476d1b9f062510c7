#include "ops/table.h"

#include <vector>

#include "ops/families.h"

namespace ulpfuzz {

const OpTable& op_table() {
#define ULPFUZZ_ROWS(name) name##_rows(),
  static const std::vector<std::span<const OpRow>> families{ULPFUZZ_FAMILIES(ULPFUZZ_ROWS)};
#undef ULPFUZZ_ROWS
  static const OpTable table{families};
  return table;
}

}  // namespace ulpfuzz
