// What the judge's allowances are fitted by: tolerance limits, samples of tensors, the file of
// them, and that the constants are those that the committed file gives.
#include "calibration/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>

#include "ir/error.h"
#include "judge/model.h"

namespace ulpfuzz {
namespace {

std::vector<double> up_to(int n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 1.0);
  return x;
}

// Wilks: the largest of 1497 values exceeds the 99.8 % quantile with 95 % confidence, the second
// largest of 2371; of fewer than 1497 none does.
TEST(UpperLimit, IsTheOrderStatisticOfWilks) {
  EXPECT_TRUE(std::isinf(upper_limit(up_to(1496))));
  EXPECT_EQ(upper_limit(up_to(1497)), 1497);
  EXPECT_EQ(upper_limit(up_to(2370)), 2370);
  EXPECT_EQ(upper_limit(up_to(2371)), 2370);
  EXPECT_GT(upper_limit(up_to(100000)), 99800);
  EXPECT_LT(upper_limit(up_to(100000)), 99830);
}

Verdict verdict_of(VerdictKind primary, int sets) {
  Verdict verdict;
  verdict.system = "inductor";
  verdict.primary = primary;
  for (int t = 0; t < sets; ++t) {
    TensorMeasure m;
    m.tensor = "output 0", m.rung = "bfloat16", m.input_set = static_cast<std::uint64_t>(t);
    m.deviations = {{1.0 + t % 2, 0.3}, {0.5, 0.1}, {-2, 0.8}};
    verdict.measures.push_back(m);
    m.tensor = "output 1", m.deviations.clear();  // not held against legal executions
    verdict.measures.push_back(m);
  }
  return verdict;
}

TEST(FitSamples, AreTensorsOfCleanVerdictsOverTheirInputSets) {
  std::vector<FitSample> samples;
  add_samples(verdict_of(VerdictKind::kWrong, 8), "fusing", "abc", samples);
  add_samples(verdict_of(VerdictKind::kAgree, kLeastFitSets - 1), "fusing", "abc", samples);
  EXPECT_TRUE(samples.empty());
  add_samples(verdict_of(VerdictKind::kExcessPrecision, 8), "fusing", "abc", samples);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].sets, 8);
  EXPECT_EQ(samples[0].place, "output");
  EXPECT_NEAR(samples[0].series[0].mean, 1.5, 1e-12);
  EXPECT_NEAR(samples[0].series[0].sd, std::sqrt(2.0 / 7), 1e-12);
  EXPECT_NEAR(samples[0].series[0].misfit(), std::sqrt(2.0 / 7 - 0.09), 1e-12);
  EXPECT_EQ(samples[0].series[1].misfit(), 0);
}

TEST(FitCsv, ReadsWhatItWrote) {
  std::vector<FitSample> samples;
  add_samples(verdict_of(VerdictKind::kAgree, 8), "fusing", "abc", samples);
  const std::string path = testing::TempDir() + "fit.csv";
  std::ofstream(path) << fit_csv(samples);
  EXPECT_EQ(fit_csv(read_fit_csv(path)), fit_csv(samples));
  std::ofstream(path, std::ios::app) << "1,2,3\n";
  EXPECT_THROW(read_fit_csv(path), Error);
  EXPECT_THROW(read_fit_csv("no such file"), Error);
}

// The constants are the limits that the committed samples give, rounded up.
TEST(Fit, ConstantsAreThoseOfTheCommittedData) {
  const std::vector<FitResult> results = fit_results(read_fit_csv("calibration/fit.csv"));
  ASSERT_EQ(results.size(), 6u);
  for (const FitResult& r : results) {
    SCOPED_TRACE(r.rung + " " + r.statistic);
    EXPECT_GE(r.tensors, 1497);
    EXPECT_GE(r.allowed_margin, r.margin);
    // Of element and drift in float32 it is wider by choice (judge/model.h).
    if (r.rung == "half" || r.statistic == "scale") {
      EXPECT_LE(r.allowed_margin, 1.1 * r.margin + 0.1);
    } else {
      EXPECT_LE(r.allowed_margin, std::log(10));
    }
    EXPECT_GE(r.allowed_misfit, r.misfit);
    EXPECT_LE(r.allowed_misfit, 1.1 * r.misfit + 0.1);
  }
}

}  // namespace
}  // namespace ulpfuzz
