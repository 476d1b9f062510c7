// The statistics of a tensor against legal executions: that each sees its own kind of fault, and
// that nulls are those of executions that were left out.
#include "judge/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/judge/legal_world.h"

namespace ulpfuzz {
namespace {

using Runs = std::vector<std::vector<double>>;

ExactTensor exact_floats(std::vector<double> values) {
  ExactTensor exact;
  exact.name = "output 0";
  exact.type = {DType::kFloat32, {static_cast<std::int64_t>(values.size())}};
  exact.bound.assign(values.size(), 1);
  exact.marks.assign(values.size(), 0);
  exact.values = std::move(values);
  return exact;
}

std::vector<double> shifted(double e) { return {1 + e, 2 - e, 3 + e, 4 - e}; }

TEST(Spread, ARunLikeTheLegalOnesHasRatioOne) {
  const ExactTensor exact = exact_floats({1, 2, 3, 4});
  const Spread s = spread({shifted(0.9e-3), shifted(1e-3), shifted(1.1e-3)}, exact);
  ASSERT_TRUE(s.valid);
  EXPECT_NEAR(log_ratio(shifted(1e-3), exact, s), 0, 0.01);
  EXPECT_NEAR(log_ratio(shifted(10e-3), exact, s), std::log(10), 0.01);
  EXPECT_FALSE(spread({{1, 2, 3, 4}}, exact).valid);  // one run has no spread
}

TEST(Spread, ErrorsBelowTheFinalRoundingAreNotToldApart) {
  const ExactTensor exact = exact_floats({1, 1, 1, 1});
  const Spread s = spread(Runs(3, {1 + 1e-7, 1, 1 - 1e-7, 1 + 1e-7}), exact);
  EXPECT_LT(log_ratio({1, 1, 1, 1}, exact, s), 0);
  EXPECT_GT(log_ratio({1, 1, 1, 1}, exact, s), -2);
  EXPECT_GT(log_ratio({1 + 1e-5, 1, 1 + 1e-5, 1}, exact, s), 3);
}

// Where all legal executions are exactly 0 they say nothing, however far a result lies from it:
// that is for the bound. Where they merely round well a worse result counts.
TEST(Spread, ZerosThatAllAgreeOnDoNotCount) {
  const ExactTensor exact = exact_floats({1, 0, 3, 4});
  const Spread s = spread(Runs(3, {1 + 1e-3, 0, 3, 4}), exact);
  ASSERT_TRUE(s.valid);
  EXPECT_NEAR(log_ratio({1 + 1e-3, 1e-2, 3, 4}, exact, s), 0, 1e-3);
  EXPECT_NEAR(log_ratio({1 + 1e-2, 0, 3, 4}, exact, s), std::log(10), 1e-3);
  EXPECT_GT(log_ratio({1, 0, 3.5, 4}, exact, s), 3);
  EXPECT_FALSE(spread(Runs(3, {0, 0}), exact_floats({0, 0})).valid);
}

double mean_of(LegalWorld& world, Statistic statistic, auto make) {
  double sum = 0;
  constexpr int kSets = 20;
  for (int t = 0; t < kSets; ++t) {
    const LegalWorld::Set set = world.draw();
    sum += of(world.deviations_of(set, make(set)), statistic) / kSets;
  }
  return sum;
}

// A further legal execution lies where the legal ones do.
TEST(Deviations, OfALegalExecutionAreSmall) {
  LegalWorld world;
  const auto legal = [&](const LegalWorld::Set& set) { return world.execution(set); };
  EXPECT_NEAR(mean_of(world, Statistic::kElement, legal), 0, 0.1);
  EXPECT_NEAR(mean_of(world, Statistic::kDrift, legal), 0, 0.03);
  EXPECT_NEAR(mean_of(world, Statistic::kScale, legal), 0, 0.7);
}

TEST(Deviations, OneElementOffIsSeenByItsStatisticAlone) {
  LegalWorld world;
  const auto off = [&](const LegalWorld::Set& set) {
    std::vector<double> y = world.execution(set);
    y[7] = set.exact.values[7] + 20 * set.sd[7];
    return y;
  };
  EXPECT_GT(mean_of(world, Statistic::kElement, off), std::log(3));
  EXPECT_LT(mean_of(world, Statistic::kDrift, off), 0.3);
}

// Each element is measured by errors like its own: twenty times a small one is far below the
// largest of the tensor, and seen.
TEST(Deviations, AnElementOfAQuietRowIsMeasuredByItsRow) {
  LegalWorld world;
  const auto off = [&](const LegalWorld::Set& set) {
    std::vector<double> y = world.execution(set);
    const std::size_t quiet = 5 * 32;  // sin(5) = -0.96: a seventh of the loudest row's
    y[quiet] = set.exact.values[quiet] + 20 * world.relative * std::exp(std::sin(5.0));
    return y;
  };
  EXPECT_GT(mean_of(world, Statistic::kElement, off), std::log(2.5));
}

TEST(Deviations, DriftIsTheLogOfTheRatioOfErrors) {
  LegalWorld world;
  const auto worse = [&](const LegalWorld::Set& set) { return world.execution(set, 3); };
  EXPECT_NEAR(mean_of(world, Statistic::kDrift, worse), std::log(3), 0.03);
}

// Values 1 % too large, where the error of each is a few percent of it: the RMS error hardly
// changes, and the sign of the deviation is that of the fault.
TEST(Deviations, ScaleSeesWhatTheRmsErrorHides) {
  LegalWorld world;
  world.relative = 0.03;
  world.common = 0;
  for (const double factor : {1.01, 0.99}) {
    const auto off = [&](const LegalWorld::Set& set) {
      std::vector<double> y = world.execution(set);
      for (double& v : y) v *= factor;
      return y;
    };
    const double scale = mean_of(world, Statistic::kScale, off);
    EXPECT_GT(scale * (factor - 1), 0.05) << scale;
    EXPECT_LT(mean_of(world, Statistic::kDrift, off), 0.2);
  }
}

// Brute force: the scale of each legal run without its own errors is that of a Spread of the
// others, so that its statistics are those of an execution that the scale never saw.
TEST(Spread, LeavesEachLegalRunOutOfItsOwnScale) {
  LegalWorld world;
  world.rows = 6, world.columns = 5, world.runs = 5;
  const LegalWorld::Set set = world.draw();
  Runs legal;
  for (int k = 0; k < world.runs; ++k) legal.push_back(world.execution(set));
  const Spread all = spread(legal, set.exact);
  double mean = 0, squares = 0;
  for (std::size_t k = 0; k < legal.size(); ++k) {
    Runs others = legal;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    const Spread without = spread(others, set.exact);
    double largest = 0, product = 0, signal = 0;
    for (std::size_t i = 0; i < set.exact.values.size(); ++i) {
      const double d = (legal[k][i] - set.exact.values[i]) / without.scale[i];
      const double e = set.exact.values[i] / without.scale[i];
      largest = std::max(largest, std::abs(d));
      product += d * e, signal += e * e;
    }
    mean += std::log(std::hypot(1, largest)) / 5;
    squares += product * product / signal / 5;
  }
  EXPECT_NEAR(all.mean_element, mean, 1e-9);
  EXPECT_NEAR(all.unit_scale, std::sqrt(1 + squares), 1e-9);
  EXPECT_GT(all.sd_element, 0);
}

// Rows shorter than kLeastLine say nothing; a tensor of one element still has a scale.
TEST(Spread, OfASingleElement) {
  const ExactTensor exact = exact_floats({2});
  const Spread s = spread({{2.1}, {1.9}, {2.05}, {1.95}}, exact);
  ASSERT_TRUE(s.valid);
  EXPECT_NEAR(s.scale[0], std::sqrt((0.1 * 0.1 + 0.05 * 0.05) / 2), 1e-6);
  EXPECT_GT(of(deviations({3}, exact, s), Statistic::kElement), std::log(3));
  EXPECT_GT(of(deviations({3}, exact, s), Statistic::kScale), 3);
  EXPECT_LT(of(deviations({1}, exact, s), Statistic::kScale), -3);
}

TEST(Spread, PartsOfComplexElementsAreElements) {
  ExactTensor exact = exact_floats({1, 2, 3, 4, 5, 6, 7, 8});
  exact.type = {DType::kComplex64, {2, 2}};
  exact.bound.resize(4), exact.marks.resize(4);
  Runs runs(3, exact.values);
  for (std::size_t i = 0; i < 8; ++i) runs[0][i] += 1e-3, runs[1][i] -= 1e-3;
  const Spread s = spread(runs, exact);
  ASSERT_TRUE(s.valid);
  std::vector<double> off = exact.values;
  off[5] += 1;
  EXPECT_GT(of(deviations(off, exact, s), Statistic::kElement), std::log(100));
}

// Two legal executions are as far apart as two others, one that errs more is farther; by the errors
// that they do not share alone.
TEST(Apart, IsOfWhatExecutionsDoNotShare) {
  LegalWorld world;
  world.common = 0.9;
  double legal = 0, more = 0;
  constexpr int kSets = 20;
  for (int i = 0; i < kSets; ++i) {
    const auto set = world.draw();
    const std::vector<double> eager = world.execution(set);
    legal += apart(world.execution(set), eager, set.legal).value / kSets;
    more += apart(world.execution(set, 1.5), eager, set.legal).value / kSets;
    EXPECT_LT(apart(eager, eager, set.legal).value, -1);
  }
  EXPECT_NEAR(legal, 0, 0.05);
  // sqrt((0.1 + 0.1 * 2.25 + 0.9 * 0.25) / 0.2)
  EXPECT_NEAR(more, 0.5 * std::log(2.75), 0.05);
}

}  // namespace
}  // namespace ulpfuzz
