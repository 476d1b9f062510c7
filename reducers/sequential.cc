#include "reducers/sequential.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ir/error.h"

namespace ulpfuzz {

SequentialTest::Answer SequentialTest::answer(int seen, int looks) const {
  const double shown = std::log(high / low);
  const double absent = std::log((1 - high) / (1 - low));
  const double ratio = seen * shown + (looks - seen) * absent;
  if (ratio >= std::log((1 - beta) / alpha)) return Answer::kShown;
  if (ratio <= std::log(beta / (1 - alpha)) || looks >= most) return Answer::kAbsent;
  return Answer::kUndecided;
}

SequentialTest sequential_test(int seen, int looks, double error) {
  if (seen < 1 || looks < seen) {
    throw Error("sequential test", "seen on " + std::to_string(seen) + " of " +
                                       std::to_string(looks) + " runs: nothing to reduce");
  }
  SequentialTest test;
  test.high = std::min(0.9, 0.5 * seen / looks);
  test.low = test.high / 5;
  test.alpha = test.beta = error;
  test.most = static_cast<int>(std::ceil(40 / test.high));
  return test;
}

}  // namespace ulpfuzz
