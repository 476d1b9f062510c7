#include "calibration/fit.h"

#include <algorithm>
#include <cmath>

#include "calibration/adjudication.h"

namespace ulpfuzz {

namespace {

double quantile(std::vector<double> x, double share) {
  const auto at = static_cast<std::size_t>(share * static_cast<double>(x.size() - 1) + 0.5);
  std::ranges::nth_element(x, x.begin() + static_cast<std::ptrdiff_t>(at));
  return x[at];
}

}  // namespace

void FitCount::add(const Verdict& verdict, const std::string& freedom) {
  if (is_finding(verdict.primary)) return;
  for (const TensorMeasure& m : verdict.measures) {
    if (!(m.rms_ratio > 0) || !std::isfinite(m.rms_ratio)) continue;
    log_ratios_[{freedom, m.rung, place_of_tensor(m.tensor)}].push_back(std::log(m.rms_ratio));
  }
}

std::vector<FitResult> FitCount::results() const {
  std::vector<FitResult> all;
  for (const auto& [key, x] : log_ratios_) {
    FitResult r{std::get<0>(key), std::get<1>(key), std::get<2>(key)};
    r.tensors = static_cast<std::int64_t>(x.size());
    const auto n = static_cast<double>(x.size());
    for (const double v : x) r.mean += v / n;
    for (const double v : x) r.sd += (v - r.mean) * (v - r.mean);
    r.sd = x.size() > 1 ? std::sqrt(r.sd / (n - 1)) : 0;
    r.median = quantile(x, 0.5);
    r.high = quantile(x, 0.95);
    r.largest = *std::ranges::max_element(x);
    all.push_back(std::move(r));
  }
  return all;
}

}  // namespace ulpfuzz
