#include <algorithm>
#include <cmath>

#include "judge/elements.h"
#include "judge/facts.h"
#include "oracle/scalar.h"

namespace ulpfuzz {
namespace {

bool counts(const ExactTensor& exact, std::size_t i) {
  // Legal executions are evaluated in double, and do not overflow where a system may.
  if ((marks_of(exact, i) & kRange) != 0) return false;
  return std::isfinite(exact.values[i]) && standing(exact, i) != Standing::kMasked;
}

}  // namespace

double rms_error(const std::vector<double>& values, const ExactTensor& exact,
                 const std::vector<bool>& only) {
  double sum = 0;
  std::int64_t n = 0;
  const std::size_t size = std::min(values.size(), exact.values.size());
  for (std::size_t i = 0; i < size; ++i) {
    if (!only.empty() && !only[i]) continue;
    if (!counts(exact, i) || !std::isfinite(values[i])) continue;
    const double error = error_of(values[i], exact, i);
    sum += error * error;
    ++n;
  }
  return n == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(n));
}

double rounding_error(const ExactTensor& exact, const std::vector<bool>& only) {
  const FloatFormat& format = float_format(exact.type.dtype);
  double sum = 0;
  std::int64_t n = 0;
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    if (!counts(exact, i) || (!only.empty() && !only[i])) continue;
    const double ulp =
        std::max(2 * format.unit_roundoff * std::abs(exact.values[i]), format.min_subnormal);
    sum += ulp * ulp / 12;
    ++n;
  }
  return n == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(n));
}

Spread spread(const std::vector<std::vector<double>>& legal, const ExactTensor& exact) {
  Spread result;
  if (legal.size() < 2 || exact.values.empty()) return result;
  bool any = false;
  result.errs.assign(exact.values.size(), false);
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    if (!counts(exact, i)) continue;
    result.errs[i] =
        exact.values[i] != 0 || std::ranges::any_of(legal, [&](const std::vector<double>& run) {
          return i < run.size() && error_of(run[i], exact, i) > 0;
        });
    any = any || result.errs[i];
  }
  if (!any) return result;
  result.floor = rounding_error(exact, result.errs);
  std::vector<double> logs;
  for (const std::vector<double>& run : legal) {
    logs.push_back(std::log(std::hypot(rms_error(run, exact, result.errs), result.floor)));
  }
  for (const double x : logs) result.mean_log += x / static_cast<double>(logs.size());
  double sum = 0;
  for (const double x : logs) sum += (x - result.mean_log) * (x - result.mean_log);
  result.sd_log = std::sqrt(sum / static_cast<double>(logs.size() - 1));
  result.valid = true;
  return result;
}

double log_ratio(const std::vector<double>& values, const ExactTensor& exact, const Spread& legal) {
  return std::log(std::hypot(rms_error(values, exact, legal.errs), legal.floor)) - legal.mean_log;
}

}  // namespace ulpfuzz
