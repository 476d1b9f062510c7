#pragma once

#include <array>

#include "judge/model.h"

namespace ulpfuzz {

// Evidence against the hypothesis that numbers x_1, x_2, ... have, each given those before, a mean
// of at most 0 and a variance of at most 1; nothing else is assumed of them. While it holds, the
// value is a non-negative supermartingale that begins at 1, so that it ever reaches 1/a with a
// probability of at most a, however one decides when to stop (J. Ville, 1939; A. Ramdas, P.
// Grünwald, V. Vovk, G. Shafer, Game-theoretic statistics and safe anytime-valid inference,
// Statistical Science 38, 2023). docs/judge.md has the proof.
class EProcess {
 public:
  void add(double x);
  double value() const;  // the mean of what the bets have come to

  // The largest mean that max(x, -1) can have under the hypothesis, (sqrt(2) - 1) / 2: for any x,
  // E max(x + 1, 0) = E (x + 1 + |x + 1|) / 2 <= (1 + sqrt(E (x + 1)^2)) / 2 (H. Scarf, A min-max
  // solution of an inventory problem, 1958).
  static constexpr double kMostMean = 0.20710678118654752;

 private:
  std::array<double, judge_model::kBets.size()> wealth_ = [] {
    std::array<double, judge_model::kBets.size()> all{};
    all.fill(1);
    return all;
  }();
};

}  // namespace ulpfuzz
