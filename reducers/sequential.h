#pragma once

#include <functional>

namespace ulpfuzz {

// Wald's sequential probability ratio test on the rate at which a thing is seen (A. Wald,
// Sequential Analysis, 1947, chapter 3): is it at least `high`, or at most `low`? Each look moves
// the log of the likelihood ratio; the test ends when it leaves (log(beta / (1 - alpha)),
// log((1 - beta) / alpha)). The chance to say "shown" at a rate of `low` or less is at most
// alpha / (1 - beta), that to say "absent" at `high` or more at most beta / (1 - alpha).
struct SequentialTest {
  double low = 0.05;
  double high = 0.5;
  double alpha = 0.01;
  double beta = 0.01;
  int most = 60;  // looks, after which it is absent: the rate lies between the two

  enum class Answer { kUndecided, kShown, kAbsent };
  Answer answer(int seen, int looks) const;
};

// The test for a finding that was seen on `seen` of `looks` runs of the case that it came with:
// `high` is half of that rate, so that a smaller case may show it less often but not much less, and
// `low` a fifth of `high`. `error`: of each decision, both ways. Throws Error when it was not seen.
SequentialTest sequential_test(int seen, int looks, double error);

}  // namespace ulpfuzz
