// From deviations to claims: what is suspected, what fresh input sets establish, at which level.
#include "judge/claims.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ulpfuzz {
namespace {

namespace model = judge_model;

// A tensor on `sets` input sets from `from` on, with the same deviations on each.
Observed seen(const std::string& tensor, std::vector<double> values, int from, int sets) {
  Observed observed;
  for (int t = from; t < from + sets; ++t) {
    std::vector<Deviation> all;
    for (const double v : values) all.push_back({v, 0.1});
    observed[tensor][static_cast<std::uint64_t>(t)] = all;
  }
  return observed;
}
constexpr auto kLess = VerdictKind::kLessAccurate;

TEST(ClaimTest, SuspectsWhatIsBeyondTheMargin) {
  const double far = model::kHalf[1].margin + 4 * model::kHalf[1].misfit;
  const auto begun = [](VerdictKind kind, std::vector<double> values) {
    return ClaimTest(kind, "bfloat16", seen("y", std::move(values), 0, 1)).begun();
  };
  EXPECT_FALSE(begun(kLess, {0, 0, 0}));
  EXPECT_FALSE(begun(kLess, {0, model::kHalf[1].margin, 0}));
  EXPECT_TRUE(begun(kLess, {0, far, 0}));
  EXPECT_TRUE(begun(kLess, {0, 0, 100}));
  EXPECT_TRUE(begun(kLess, {0, 0, -100}));
  EXPECT_FALSE(begun(kLess, {0, -100, 0}));
  EXPECT_FALSE(begun(VerdictKind::kWrong, {0, far, 100}));
  EXPECT_TRUE(begun(VerdictKind::kWrong, {0, 10, 0}));
}

// Half an excess on one set is none; on a hundred it is one.
TEST(ClaimTest, ManySetsSuspectASmallExcess) {
  const double near = model::kHalf[1].margin + model::kHalf[1].misfit / 2;
  EXPECT_FALSE(ClaimTest(kLess, "bfloat16", seen("y", {0, near, 0}, 0, 1)).begun());
  EXPECT_TRUE(ClaimTest(kLess, "bfloat16", seen("y", {0, near, 0}, 0, 100)).begun());
}

TEST(ClaimTest, FreshSetsDecide) {
  const ClaimTest test(kLess, "float32", seen("y", {0, 50, 0}, 0, 1));
  EXPECT_EQ(test.tensors(), std::vector<std::string>{"y"});
  const auto weighed = test.weigh(seen("y", {0, 50, 0}, 1, 4));
  EXPECT_EQ(ClaimTest::established(weighed).size(), 1u);
  EXPECT_FALSE(ClaimTest::open(weighed));
  // The same deviation on the first look alone: nothing is established, and nothing is hoped for.
  const auto not_again = test.weigh(seen("y", {0, 0, 0}, 1, 4));
  EXPECT_TRUE(ClaimTest::established(not_again).empty());
  EXPECT_FALSE(ClaimTest::open(not_again));
  // A small excess needs more sets, and gets them.
  const auto [margin, misfit] = model::kWide[1];
  const auto small = [&](int sets) { return seen("y", {0, margin + 1.5 * misfit, 0}, 1, sets); };
  EXPECT_TRUE(ClaimTest::open(test.weigh(small(4))));
  EXPECT_EQ(ClaimTest::established(test.weigh(small(32))).size(), 1u);
}

// Scale: with either sign, not with both in turn.
TEST(ClaimTest, ScaleMustKeepItsSign) {
  const ClaimTest test(kLess, "bfloat16", seen("y", {0, 0, 100}, 0, 1));
  EXPECT_EQ(ClaimTest::established(test.weigh(seen("y", {0, 0, -100}, 1, 8))).size(), 1u);
  Observed both = seen("y", {0, 0, 100}, 1, 4);
  merge(both, seen("y", {0, 0, -100}, 5, 4));
  Observed turns;
  for (std::uint64_t t = 1; t <= 8; ++t) turns["y"][t] = both["y"][t % 2 == 0 ? 1 : 5];
  EXPECT_TRUE(ClaimTest::established(test.weigh(turns)).empty());
}

// Closed testing: evidence of one in a thousand suspects is diluted a thousandfold.
TEST(ClaimTest, ManySuspectsNeedMoreEvidence) {
  Observed first = seen("y", {0, 50, 0}, 0, 1);
  Observed fresh = seen("y", {0, 50, 0}, 1, 4);
  const double alone = ClaimTest(kLess, "float32", first).weigh(fresh)[0].among_all;
  for (int i = 0; i < 999; ++i) {
    merge(first, seen("z" + std::to_string(i), {0, 50, 0}, 0, 1));
    merge(fresh, seen("z" + std::to_string(i), {0, -50, 0}, 1, 4));
  }
  const auto weighed = ClaimTest(kLess, "float32", first).weigh(fresh);
  double most = 0;
  for (const Weighed& w : weighed) {
    most = std::max(most, w.among_all);
    if (w.suspect.tensor != "y") {
      EXPECT_LT(w.among_all, 1);
    }
  }
  EXPECT_NEAR(most * 1000, alone, 0.01 * alone);
}

TEST(Claims, SayOnceATensorWithTheirErrorRate) {
  const ClaimTest test(kLess, "float32", seen("y", {50, 50, 0}, 0, 1));
  const Observed fresh = seen("y", {50, 50, 0}, 1, 4);
  const std::vector<Fact> facts = claims(test, fresh, {}, "float32", true);
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].kind, kLess);
  EXPECT_EQ(facts[0].strength, "statistical");
  EXPECT_GE(facts[0].e_value, 1 / model::kClaimError);
}

// Apart from eager: a loss only where the exact values are no nearer, and of systems that have the
// statistic.
TEST(Claims, ApartFromEagerAndNoNearerToExact) {
  const auto far = [](double drift, int first, int sets) {
    return seen("y", {0, drift, 0, 1.5}, first, sets);
  };
  const ClaimTest test(kLess, "bfloat16", far(0.3, 0, 1));
  ASSERT_TRUE(test.begun());
  const auto said = [&](double eager) {
    return claims(test, far(0.3, 1, 32), seen("y", {0, eager, 0}, 1, 32), "bfloat16", false);
  };
  ASSERT_EQ(said(0.1).size(), 1u);
  EXPECT_NE(said(0.1)[0].detail.find("as far from eager's as"), std::string::npos);
  EXPECT_TRUE(said(0.4).empty());
  EXPECT_FALSE(ClaimTest(kLess, "bfloat16", seen("y", {0, 0.3, 0}, 0, 1)).begun());
  EXPECT_FALSE(ClaimTest(VerdictKind::kWrong, "bfloat16", far(0.3, 0, 1)).begun());
}

// Where eager lies as far out nothing is said of a system beside it, on a rung where eager has no
// verdict of its own.
TEST(Claims, NothingIsSaidWhereEagerIsNoBetter) {
  const ClaimTest test(kLess, "float32", seen("y", {0, 5, 0}, 0, 1));
  const Observed fresh = seen("y", {0, 5, 0}, 1, 32);
  const auto count = [&](double eager, bool above) {
    return claims(test, fresh, seen("y", {0, eager, 0}, 1, 32), "float32", above).size();
  };
  EXPECT_EQ(count(0, true), 1u);
  EXPECT_EQ(count(4.9, true), 0u);
  EXPECT_EQ(count(4.9, false), 1u);
}

}  // namespace
}  // namespace ulpfuzz
