// Findings that only some runs show: the test's error rates, and a reduction under it.
#include "reducers/sequential.h"

#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/reducers/planted.h"

namespace ulpfuzz {
namespace {

using Answer = SequentialTest::Answer;

// A counter-based coin (SplitMix64), the same in every run.
class Coin {
 public:
  explicit Coin(std::uint64_t seed) : state_(seed) {}
  bool toss(double rate) {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 < rate;
  }

 private:
  std::uint64_t state_;
};

bool shown(const SequentialTest& test, Coin& coin, double rate) {
  int seen = 0;
  for (int looks = 1;; ++looks) {
    seen += coin.toss(rate) ? 1 : 0;
    const Answer answer = test.answer(seen, looks);
    if (answer != Answer::kUndecided) return answer == Answer::kShown;
  }
}

// Wald's bounds hold in 20,000 repetitions at both ends, and for a rate of 0.
TEST(Sequential, ErrsAsSeldomAsItSays) {
  constexpr int kRepetitions = 20000;
  for (const int seen : {4, 10, 18}) {
    const SequentialTest test = sequential_test(seen, 20, 0.01);
    Coin coin(7);
    int false_shown = 0, false_absent = 0;
    for (int i = 0; i < kRepetitions; ++i) {
      false_shown += shown(test, coin, test.low) ? 1 : 0;
      false_absent += shown(test, coin, test.high) ? 0 : 1;
      ASSERT_FALSE(shown(test, coin, 0));
    }
    EXPECT_LE(false_shown, 1.3 * 0.0102 * kRepetitions) << seen;
    EXPECT_LE(false_absent, 1.3 * 0.0102 * kRepetitions) << seen;
  }
}

TEST(Sequential, WhatWasNeverSeenIsNothingToTestFor) {
  EXPECT_THROW(sequential_test(0, 20, 0.01), Error);
}

// A fault that shows in 40 % of the runs is still reduced to its node; with one look at each
// candidate it is not.
TEST(Sequential, AFlakyFaultIsReducedToItsNode) {
  const SequentialTest test = sequential_test(8, 20, 0.01);
  int minimal = 0, single = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Coin coin(seed);
    const auto rate = [](const Case& c) { return contains(c, "aten.sin.default") ? 0.4 : 0.0; };
    const ReducedCase tested =
        reduce_with(chain(12, 5), [&](const Case& c) { return shown(test, coin, rate(c)); });
    minimal += tested.smallest.program.nodes.size() == 1 && elements_of(tested.smallest, 0) == 1;
    EXPECT_TRUE(contains(tested.smallest, "aten.sin.default"));
    const ReducedCase once =
        reduce_with(chain(12, 5), [&](const Case& c) { return coin.toss(rate(c)); });
    single += once.smallest.inputs.at(0).fill == tested.smallest.inputs.at(0).fill &&
              to_json(once.smallest) == to_json(tested.smallest);
  }
  EXPECT_GE(minimal, 9);
  EXPECT_LT(single, 9);
}

}  // namespace
}  // namespace ulpfuzz
