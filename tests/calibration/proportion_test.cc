// Intervals of rates, against published ones and by their own definition.
#include "calibration/proportion.h"

#include <gtest/gtest.h>

#include <cmath>

#include "generators/draw.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

// Proves: the intervals of method 5 in R. G. Newcombe, Two-sided confidence intervals for the
// single proportion, Statistics in Medicine 17 (1998), table I, to its four digits.
TEST(Proportion, AgreesWithPublishedIntervals) {
  struct Published {
    std::int64_t count, of;
    double low, high;
  };
  for (const Published& p : {Published{81, 263, 0.2527, 0.3676}, Published{15, 148, 0.0578, 0.1617},
                             Published{0, 20, 0, 0.1684}, Published{1, 29, 0.0009, 0.1776}}) {
    const Proportion found = proportion(p.count, p.of);
    EXPECT_NEAR(found.low, p.low, 5e-5) << p.count << "/" << p.of;
    EXPECT_NEAR(found.high, p.high, 5e-5) << p.count << "/" << p.of;
    EXPECT_DOUBLE_EQ(found.rate, static_cast<double>(p.count) / static_cast<double>(p.of));
  }
}

// Proves: none of n has the closed form 1 - (tail)^(1/n), and all of n is its mirror.
TEST(Proportion, HasClosedFormsAtTheEnds) {
  const double high = 1 - std::pow(0.025, 1.0 / 5000);
  EXPECT_NEAR(proportion(0, 5000).high, high, 1e-12);
  EXPECT_EQ(proportion(0, 5000).low, 0);
  EXPECT_NEAR(proportion(5000, 5000).low, 1 - high, 1e-12);
  EXPECT_EQ(proportion(5000, 5000).high, 1);
  EXPECT_NEAR(proportion(0, 100, 0.99).high, 1 - std::pow(0.005, 1.0 / 100), 1e-12);
}

TEST(Proportion, OfNothingSaysNothing) {
  const Proportion none = proportion(0, 0);
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 1);
  EXPECT_THROW(proportion(2, 1), Error);
  EXPECT_THROW(proportion(-1, 1), Error);
  EXPECT_THROW(proportion(1, 2, 1.0), Error);
}

// Proves: it covers. Of 4,000 samples of 60 trials with rate 0.07 at least 95 % of the intervals
// hold it, less 4 standard deviations of that share; and an interval for 50 % does not do as well.
TEST(Proportion, CoversTheTrueRate) {
  constexpr double kRate = 0.07;
  constexpr int kSamples = 4000;
  Random random(5);
  int covers = 0, half = 0;
  for (int s = 0; s < kSamples; ++s) {
    Tally tally;
    for (int i = 0; i < 60; ++i) tally.add(random.chance(kRate));
    const Proportion p = tally.rate();
    covers += p.low <= kRate && kRate <= p.high;
    const Proportion narrow = proportion(p.count, p.of, 0.5);
    half += narrow.low <= kRate && kRate <= narrow.high;
  }
  EXPECT_GE(covers, kSamples * 0.95 - 4 * std::sqrt(kSamples * 0.95 * 0.05));
  EXPECT_LT(half, kSamples * 0.9);
}

}  // namespace
}  // namespace ulpfuzz
