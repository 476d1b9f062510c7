// What is said of the claims of a campaign together.
#include "judge/error_rate.h"

#include <gtest/gtest.h>

#include "judge/model.h"

namespace ulpfuzz {
namespace {

Fact claim(VerdictKind kind, const std::string& rung, double e_value) {
  Fact fact;
  fact.kind = kind, fact.rung = rung, fact.e_value = e_value;
  return fact;
}

// A test that names two tensors claims once; what no test says does not count.
TEST(Claimed, OnceForEachTest) {
  Verdict verdict;
  verdict.facts = {claim(VerdictKind::kLessAccurate, "bfloat16", 2e4),
                   claim(VerdictKind::kLessAccurate, "bfloat16", 5e4),
                   claim(VerdictKind::kLessAccurate, "float32", 1e5),
                   claim(VerdictKind::kWrong, "float32", 1e6),
                   claim(VerdictKind::kWrong, "float32", 0)};
  EXPECT_EQ(claimed(verdict), (std::vector<double>{1e6, 5e4, 1e5}));
}

TEST(ErrorRate, IsThatOfAllTestsTogether) {
  const ErrorRate none = error_rate(100, {});
  EXPECT_NEAR(none.false_claims, 100 * judge_model::kClaimError, 1e-12);
  EXPECT_EQ(none.false_discovery_rate, 0);
  // e-BH makes k claims at level q when the least of them is N / (k q).
  EXPECT_NEAR(error_rate(1000, {1e5, 2e4}).false_discovery_rate, 1000 / (2 * 2e4), 1e-12);
  EXPECT_EQ(error_rate(1000000, {1e4}).false_discovery_rate, 1);
}

}  // namespace
}  // namespace ulpfuzz
