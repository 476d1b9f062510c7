#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/op_row.h"
#include "ir/run.h"
#include "systems/limits.h"

namespace ulpfuzz {

// What a completed run of a request must list, in this order (PROTOCOL.md, names of results).
struct ExpectedResult {
  TensorResult::Role role;
  std::string name;
};
std::vector<ExpectedResult> expected_results(const RunRequest& request, const OpTable& table);

// The run message for a pack: requests of one system, environment and profile choice, with every
// size a number. With `stock` a compiler takes no shortcuts. `worker` is the kind of the receiver:
// "python", "libtorch". The one that runs a package is told nothing of how it was made.
std::string run_message(std::int64_t id, std::span<const RunRequest* const> pack,
                        const Limits& limits, bool stock, std::string_view worker,
                        const OpTable& table);

}  // namespace ulpfuzz
