#pragma once

#include <span>
#include <string_view>

#include "ir/run.h"
#include "oracle/oracle.h"

namespace ulpfuzz {

// How another tool decides that one result is wrong, written from its public description. NaN
// beside NaN is accepted by all, as fuzzers ask for.
struct PeerJudge {
  std::string_view name;    // "torch.testing"
  std::string_view source;  // where it is described
  std::string_view rule;    // in a line
  // Does the peer accept `actual`? `eager`: the reference that most peers use, same inputs.
  // `exact`: for those that compare with float64, to which its values are rounded.
  bool (*accepts)(const TensorResult& actual, const TensorResult& eager, const ExactTensor& exact);
};

// torch.testing's defaults; PyTorch's `same` (RMSE of both against float64); sum of the elements
// within 5 %; rtol 1e-2 and atol 1e-3.
std::span<const PeerJudge> peer_judges();

// Does the peer raise an alarm on the first execution of `run`, held against eager's? An end that
// eager does not have, a result that is missing on one side, or one that is not accepted.
bool peer_alarm(const PeerJudge& peer, const Run& run, const Run& eager, const Exact& exact);

}  // namespace ulpfuzz
