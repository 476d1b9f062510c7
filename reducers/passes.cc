#include "reducers/passes.h"

#include <array>

#include "reducers/reducer.h"

namespace ulpfuzz {

std::span<const Pass> passes() {
  static constexpr std::array<Pass, 17> kPasses{{
      {"leaps", "all fields of a large model or module at once", leap_candidates},
      {"lower", "the model or module as a program", lowering_candidates},
      {"config", "fields of the model or module towards their smallest values", config_candidates,
       true},
      {"environment", "switches at their defaults", environment_candidates, true},
      {"kinds", "one node of each kind alone", kind_candidates},
      {"ranges", "halves, quarters and eighths of the program", range_candidates},
      {"nodes", "a part of the program alone, or without a part", node_candidates},
      {"outputs", "fewer outputs and gradients, nearer to the inputs", output_candidates},
      {"shapes", "sizes towards 1", shape_candidates, true},
      {"constants", "operands as numbers", constant_candidates, true},
      {"dtypes", "towards float32 and int64", dtype_candidates, true},
      {"layouts", "contiguous inputs with storages of their own", layout_candidates, true},
      {"arguments", "arguments at their defaults", argument_candidates, true},
      {"operators", "the plainest operator of its kind", operator_candidates, true},
      {"values", "plainer elements", value_candidates, true},
      {"numbers", "plainer literals", number_candidates, true},
      {"names", "short names in order", name_candidates},
  }};
  return kPasses;
}

}  // namespace ulpfuzz
