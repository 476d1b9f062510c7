#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "ir/case.h"

namespace ulpfuzz {

// Where a reduction stands, so that one that was cut short can go on.
struct ReductionState {
  Case smallest;
  int steps = 0;
  int tried = 0;
  std::set<std::string> refused;  // first 16 digits of the hashes of cases that do not fail
};

// One JSON object. `key`: whatever the answers depend on (finding, judge, systems' versions); a
// state under another key is none. Written to a temporary file and renamed, so that a kill leaves
// the old one or the new one.
void write_state(const std::filesystem::path& file, const ReductionState& state,
                 const std::string& key);
// Nothing when there is no such file, or one under another key. Throws Error for one that is
// broken.
std::optional<ReductionState> read_state(const std::filesystem::path& file, const std::string& key);

}  // namespace ulpfuzz
