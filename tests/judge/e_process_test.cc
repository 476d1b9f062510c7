// The e-process: a supermartingale under its hypothesis whatever the law, at the worst law exactly
// a martingale, and no longer one as soon as the hypothesis is false.
#include "judge/e_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace ulpfuzz {
namespace {

double after(double x) {
  EProcess e;
  e.add(x);
  return e.value();
}

// The law of mean 0 and variance 1 that max(x, -1) has the largest mean under.
const double kRoot = std::sqrt(2.0);
const double kHigh = kRoot - 1, kLow = -kRoot - 1, kShareHigh = (1 + kRoot) / (2 * kRoot);

TEST(EProcess, IsAMartingaleUnderTheWorstLaw) {
  EXPECT_NEAR(kShareHigh * kHigh + (1 - kShareHigh) * kLow, 0, 1e-12);
  EXPECT_NEAR(kShareHigh * kHigh * kHigh + (1 - kShareHigh) * kLow * kLow, 1, 1e-12);
  EXPECT_NEAR(kShareHigh * after(kHigh) + (1 - kShareHigh) * after(kLow), 1, 1e-12);
}

TEST(EProcess, StaysPositiveAndCountsWhatIsNoNumberAgainstTheClaim) {
  EProcess e;
  for (int i = 0; i < 50; ++i) e.add(-1e300);
  EXPECT_GT(e.value(), 0);
  EXPECT_EQ(after(std::numeric_limits<double>::quiet_NaN()), after(-1));
  EXPECT_EQ(after(std::numeric_limits<double>::infinity()), after(1e9));
}

// Four input sets that are far out decide.
TEST(EProcess, FourSetsFarOutAreEnough) {
  EProcess e;
  for (int i = 0; i < 4; ++i) e.add(20);
  EXPECT_GE(e.value(), 1 / judge_model::kClaimError);
  EXPECT_LT(after(1e9), 1 / judge_model::kClaimError);
}

// Of `trials` sequences of 32, the share that ever reaches 20.
double share_reaching_20(const std::function<double(std::mt19937_64&)>& draw, int trials) {
  std::mt19937_64 random(5);
  int reached = 0;
  for (int t = 0; t < trials; ++t) {
    EProcess e;
    bool any = false;
    for (int i = 0; i < 32; ++i) {
      e.add(draw(random));
      any = any || e.value() >= 20;
    }
    reached += any;
  }
  return reached / static_cast<double>(trials);
}

// Ville's inequality, on laws with mean 0 and variance 1: at most 5 % ever reach 20 (5.6 % of 10000
// is three standard errors above). The control has a mean of 1/2.
TEST(EProcess, RarelyReaches20UnderTheHypothesis) {
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::bernoulli_distribution rare(0.01), high(kShareHigh);
  const auto share = [](auto draw) { return share_reaching_20(draw, 10000); };
  EXPECT_LE(share([&](auto& r) { return normal(r); }), 0.056);
  EXPECT_LE(share([&](auto& r) { return exponential(r) - 1; }), 0.056);
  EXPECT_LE(share([&](auto& r) { return high(r) ? kHigh : kLow; }), 0.056);
  const double sd = std::sqrt(0.01 * 0.99);
  EXPECT_LE(share([&](auto& r) { return ((rare(r) ? 1.0 : 0.0) - 0.01) / sd; }), 0.056);
  EXPECT_GE(share([&](auto& r) { return normal(r) + 1; }), 0.5);
}

}  // namespace
}  // namespace ulpfuzz
