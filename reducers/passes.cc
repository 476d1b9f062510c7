#include "reducers/passes.h"

#include <array>

#include "reducers/reducer.h"

namespace ulpfuzz {

std::span<const Pass> passes() {
  static constexpr std::array<Pass, 5> kPasses{{
      {"config", "fields of the model towards their smallest values", config_candidates},
      {"lower", "the model as a program", lowering_candidates},
      {"outputs", "fewer outputs and gradients, nearer to the inputs", output_candidates},
      {"nodes", "nodes cut off, replaced or left out", node_candidates},
      {"shapes", "sizes towards 1", shape_candidates},
  }};
  return kPasses;
}

}  // namespace ulpfuzz
