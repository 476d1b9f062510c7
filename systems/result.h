#pragma once

#include <string>
#include <vector>

#include "systems/frames.h"
#include "systems/request.h"

namespace ulpfuzz {

// What one item of a pack should have come to.
struct ExpectedRun {
  std::vector<std::uint64_t> input_sets;
  std::vector<ExpectedResult> tensors;  // of each execution when it completed
  bool has_values = true;               // false: layouts alone, tensors come without elements
};

// The runs of a result frame, one an item, with elements copied out of the memfd. Nothing of the
// frame is taken on trust: throws Error, saying what is wrong, for anything but well-formed runs of
// the items that were asked for.
std::vector<Run> read_result(const Frame& frame, const std::vector<ExpectedRun>& expected);

// The run of a worker that makes packages (PROTOCOL.md, "Packages"), as little trusted. When it
// made one, `package` holds it, a memfd, and the run is completed but without executions.
Run read_package(Frame& frame, UniqueFd& package);

}  // namespace ulpfuzz
