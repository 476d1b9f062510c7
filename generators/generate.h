#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// What a campaign generates: relative frequencies and limits.
struct Profile {
  double model_share = 0.06;  // cases from model families, each equally; the rest are op graphs
  int min_nodes = 1;
  int max_nodes = 8;
  bool alone = false;  // the operator whose turn it is, and what its rule puts beside it, no other
  std::int64_t max_elements = 4096;  // of one tensor, mostly; `large_share` of cases allow 65536
  double large_share = 0.02;
  double backward_share = 0.5;  // of cases that have a differentiable path
  double layout_share = 0.5;    // of inputs with a non-contiguous layout
  double special_share = 0.3;   // of floating inputs with edge values mixed in
  double dynamic_share = 0.05;
  double sdpa_choice_share = 0.5;  // of cases with attention
  // A family: only its models. A module or its library ("litgpt.GPT", "transformers"): only such
  // modules. Otherwise a part of operators' names, "aten.sin.default" or "norm":
  // each case has one of these, and no case is a model. "": all.
  std::string only;
};

// Case number `index` of the stream `seed`: the same on every machine. It verifies, has no dead
// code, and differs from other indices; a module's program is still to be captured
// (systems/capture.h). Throws Error when `only` names nothing that can be drawn.
Case generate_case(std::uint64_t seed, std::uint64_t index, const OpTable& table,
                   const Profile& profile = {});

}  // namespace ulpfuzz
