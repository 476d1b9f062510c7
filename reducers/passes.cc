#include "reducers/passes.h"

#include <array>

#include "reducers/reducer.h"

namespace ulpfuzz {

std::span<const Pass> passes() {
  static constexpr std::array<Pass, 10> kPasses{{
      {"config", "fields of the model or module towards their smallest values", config_candidates},
      {"lower", "the model or module as a program", lowering_candidates},
      {"nodes", "a part of the program alone, or without a part", node_candidates},
      {"outputs", "fewer outputs and gradients, nearer to the inputs", output_candidates},
      {"shapes", "sizes towards 1", shape_candidates},
      {"layouts", "contiguous inputs with storages of their own", layout_candidates},
      {"arguments", "arguments at their defaults", argument_candidates},
      {"environment", "switches at their defaults", environment_candidates},
      {"values", "plainer elements", value_candidates},
      {"names", "short names in order", name_candidates},
  }};
  return kPasses;
}

}  // namespace ulpfuzz
