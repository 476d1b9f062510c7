#include "calibration/fit.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "calibration/adjudication.h"
#include "calibration/proportion.h"

namespace ulpfuzz {
namespace {

constexpr double kQuantile = 0.998, kConfidence = 0.95;

double quantile(std::vector<double> x, double share) {
  const auto at = static_cast<std::size_t>(share * static_cast<double>(x.size() - 1) + 0.5);
  std::ranges::nth_element(x, x.begin() + static_cast<std::ptrdiff_t>(at));
  return x[at];
}

FitSample::Series series_of(Statistic statistic, std::vector<Deviation> all) {
  for (Deviation& d : all) d.value = excess(statistic, d.value);
  FitSample::Series s;
  const auto n = static_cast<double>(all.size());
  double null = 0;
  for (const Deviation& d : all) s.mean += d.value / n, null += d.null_sd * d.null_sd / n;
  for (const Deviation& d : all) s.sd += (d.value - s.mean) * (d.value - s.mean) / (n - 1);
  s.sd = std::sqrt(s.sd), s.null_sd = std::sqrt(null);
  return s;
}

FitResult result_of(bool half, Statistic statistic, const std::vector<FitSample>& samples) {
  FitResult r;
  r.rung = half ? "half" : "float32";
  r.statistic = name(statistic);
  const judge_model::Allowance allowed = allowance(statistic, half ? "bfloat16" : "float32");
  r.allowed_margin = allowed.margin, r.allowed_misfit = allowed.misfit;
  std::vector<double> means, misfits;
  for (const FitSample& sample : samples) {
    if ((sample.rung == "float32") == half) continue;
    const FitSample::Series& s = sample.series.at(static_cast<std::size_t>(statistic));
    means.push_back(statistic == Statistic::kScale ? std::abs(s.mean) : s.mean);
    misfits.push_back(s.misfit());
  }
  r.tensors = static_cast<std::int64_t>(means.size());
  if (means.empty()) return r;
  for (const double v : means) r.mean += v / static_cast<double>(means.size());
  r.median = quantile(means, 0.5);
  r.high = quantile(means, 0.99);
  r.margin = upper_limit(means);
  r.largest = *std::ranges::max_element(means);
  r.misfit = upper_limit(misfits);
  r.beyond = proportion(std::ranges::count_if(means, [&](double v) { return v > allowed.margin; }),
                        r.tensors);
  return r;
}

}  // namespace

double FitSample::Series::misfit() const {
  return std::sqrt(std::max(0.0, sd * sd - null_sd * null_sd));
}

void add_samples(const Verdict& verdict, const std::string& freedom, const std::string& source,
                 std::vector<FitSample>& samples) {
  if (is_finding(verdict.primary)) return;
  std::map<std::pair<std::string, std::string>, std::vector<const TensorMeasure*>> tensors;
  for (const TensorMeasure& m : verdict.measures) {
    if (!m.deviations.empty()) tensors[{m.rung, m.tensor}].push_back(&m);
  }
  for (const auto& [key, measures] : tensors) {
    if (measures.size() < static_cast<std::size_t>(kLeastFitSets)) continue;
    FitSample sample{verdict.system, freedom, key.first, place_of_tensor(key.second),
                     source + " " + key.second};
    sample.sets = static_cast<int>(measures.size());
    for (std::size_t s = 0; s < kStatistics.size(); ++s) {
      std::vector<Deviation> all;
      for (const TensorMeasure* m : measures) all.push_back(m->deviations.at(s));
      sample.series.at(s) = series_of(kStatistics.at(s), std::move(all));
    }
    samples.push_back(std::move(sample));
  }
}

double upper_limit(std::vector<double> x) {
  const auto n = static_cast<double>(x.size());
  std::ranges::sort(x);
  // The r-th smallest is below the quantile when at least r of n are: the least r for which that is
  // improbable.
  const boost::math::binomial_distribution<double> below(n, kQuantile);
  for (std::size_t r = x.size() - std::min<std::size_t>(x.size(), x.size() / 20 + 10); r < x.size();
       ++r) {
    if (cdf(below, static_cast<double>(r)) >= kConfidence) return x[r];
  }
  return std::numeric_limits<double>::infinity();
}

std::vector<FitResult> fit_results(const std::vector<FitSample>& samples) {
  std::vector<FitResult> all;
  if (samples.empty()) return all;
  for (const bool half : {true, false}) {
    for (const Statistic statistic : kStatistics) {
      all.push_back(result_of(half, statistic, samples));
    }
  }
  return all;
}

}  // namespace ulpfuzz
