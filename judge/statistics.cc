#include "judge/statistics.h"

#include <algorithm>
#include <cmath>

#include "judge/elements.h"
#include "judge/model.h"
#include "oracle/scalar.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

bool counts(const ExactTensor& exact, std::size_t i) {
  // Legal executions are evaluated in double, and do not overflow where a system may.
  if ((marks_of(exact, i) & kRange) != 0) return false;
  return std::isfinite(exact.values[i]) && standing(exact, i) != Standing::kMasked;
}

double ulp_of(const ExactTensor& exact, const FloatFormat& format, std::size_t i) {
  return std::max(2 * format.unit_roundoff * std::abs(exact.values[i]), format.min_subnormal);
}

double signed_error(double y, const ExactTensor& exact, std::size_t i) {
  const double low = exact.low.empty() ? 0.0 : exact.low[i];
  return (y - exact.values[i]) - low;
}

struct Moments {
  double mean = 0, sd = 0;
};
Moments moments(const std::vector<double>& x) {
  Moments m;
  const auto n = static_cast<double>(x.size());
  for (const double v : x) m.mean += v / n;
  for (const double v : x) m.sd += (v - m.mean) * (v - m.mean);
  m.sd = x.size() > 1 ? std::sqrt(m.sd / (n - 1)) : 0;
  return m;
}

// Standard deviation of the excess over the mean.
double sd_of_excess(std::vector<double> x, double mean) {
  for (double& v : x) v = std::max(v - mean, 0.0);
  return moments(x).sd;
}

// The two statistics that need a scale by element, as its elements come in.
class Scaled {
 public:
  void add(double error, double exact, double scale) {
    const double e = exact / scale, d = error / scale;
    largest_ = std::max(largest_, std::abs(d));
    product_ += d * e;
    signal_ += e * e;
  }
  // Below 1 errors are not told apart: an execution without any has none that is largest.
  double element() const { return std::log(std::hypot(1, largest_)); }
  double scale() const { return signal_ > 0 ? product_ / std::sqrt(signal_) : 0; }

 private:
  double largest_ = 0, product_ = 0, signal_ = 0;
};

// Mean square errors of legal runs, by element and by line of elements, of all runs and of all but
// one. A line has the elements of one row (the last dimension) or of one column.
class Squares {
 public:
  static constexpr std::size_t kAll = SIZE_MAX;  // leave none out

  Squares(const std::vector<std::vector<double>>& legal, const ExactTensor& exact,
          const std::vector<bool>& errs)
      : legal_(legal), exact_(exact), runs_(legal.size()) {
    const std::size_t n = errs.size();
    const Shape& shape = exact.type.shape;
    const std::size_t last = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
    columns_ = std::max<std::size_t>(1, last * (is_complex(exact.type.dtype) ? 2 : 1));
    row_.resize((n + columns_ - 1) / columns_, Line(runs_));
    column_.resize(columns_, Line(runs_));
    for (std::size_t i = 0; i < n; ++i) {
      if (!errs[i]) continue;
      for (Line* line : lines(i)) ++line->size;
      for (std::size_t k = 0; k < runs_; ++k) {
        for (Line* line : lines(i)) line->by_run[k] += square(i, k);
      }
    }
    for (std::vector<Line>* all : {&row_, &column_}) {
      for (Line& line : *all) line.finish();
    }
    all_.finish();
  }

  double square(std::size_t i, std::size_t run) const {
    const double d = signed_error(legal_[run][i], exact_, i);
    return d * d;
  }

  // s^2 without the rounding of the result. `sum`: of square(i, .) over all runs.
  double scale_squared(std::size_t i, double sum, std::size_t without) const {
    const bool all = without == kAll;
    const double used = static_cast<double>(all ? runs_ : runs_ - 1);
    const double own = std::max(0.0, all ? sum : sum - square(i, without));  // sum over runs used
    return (model::kPooling * group(i, without) + own) / (model::kPooling + used);
  }

 private:
  struct Line {
    explicit Line(std::size_t runs) : by_run(runs, 0.0) {}
    std::size_t size = 0;
    std::vector<double> by_run;  // sum, then mean, of the squares of its elements
    double sum = 0;              // of by_run
    void finish() {
      for (double& v : by_run) {
        if (size > 0) v /= static_cast<double>(size);
        sum += v;
      }
    }
    double mean(std::size_t without) const {
      const auto runs = static_cast<double>(by_run.size());
      if (without == kAll) return sum / runs;
      return std::max(0.0, sum - by_run[without]) / (runs - 1);
    }
  };

  std::array<Line*, 3> lines(std::size_t i) {
    return {&row_[i / columns_], &column_[i % columns_], &all_};
  }

  // What the errors of the element's row and column say of it, as if they were a product of both.
  double group(std::size_t i, std::size_t without) const {
    const double mean = all_.mean(without);
    if (mean <= 0) return 0;
    double g = mean;
    for (const Line* line : {&row_[i / columns_], &column_[i % columns_]}) {
      if (line->size >= model::kLeastLine) g *= line->mean(without) / mean;
    }
    return g;
  }

  const std::vector<std::vector<double>>& legal_;
  const ExactTensor& exact_;
  std::size_t runs_;
  std::size_t columns_ = 1;
  std::vector<Line> row_, column_;
  Line all_{runs_};
};

// Which elements of which legal executions err: Spread::errs.
std::vector<bool> erring(const std::vector<std::vector<double>>& legal, const ExactTensor& exact) {
  std::vector<bool> errs(exact.values.size(), false);
  for (std::size_t i = 0; i < errs.size(); ++i) {
    if (!counts(exact, i)) continue;
    bool finite = true, any = exact.values[i] != 0;
    for (const std::vector<double>& run : legal) {
      finite = finite && i < run.size() && std::isfinite(run[i]);
      any = any || (finite && error_of(run[i], exact, i) > 0);
    }
    errs[i] = finite && any;
  }
  return errs;
}

void add_scales(const std::vector<std::vector<double>>& legal, const ExactTensor& exact,
                Spread& result) {
  const Squares squares(legal, exact, result.errs);
  const FloatFormat& format = float_format(exact.type.dtype);
  std::vector<Scaled> left_out(legal.size());
  result.scale.assign(exact.values.size(), 0.0);
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    if (!result.errs[i]) continue;
    const double ulp = ulp_of(exact, format, i);
    const double rounding = ulp * ulp / 12;
    double sum = 0;
    for (std::size_t k = 0; k < legal.size(); ++k) sum += squares.square(i, k);
    result.scale[i] = std::sqrt(squares.scale_squared(i, sum, Squares::kAll) + rounding);
    if (!(result.scale[i] > 0)) continue;  // its square underflows
    for (std::size_t k = 0; k < legal.size(); ++k) {
      const double scale = std::sqrt(squares.scale_squared(i, sum, k) + rounding);
      if (scale > 0) left_out[k].add(signed_error(legal[k][i], exact, i), exact.values[i], scale);
    }
  }
  std::vector<double> elements;
  double square = 0;
  for (const Scaled& run : left_out) {
    elements.push_back(run.element());
    square += run.scale() * run.scale() / static_cast<double>(legal.size());
  }
  result.mean_element = moments(elements).mean;
  result.sd_element = sd_of_excess(elements, result.mean_element);
  result.unit_scale = std::sqrt(1 + square);
  result.sd_scale = std::sqrt(square) / result.unit_scale;
}

// log RMS of the difference over the elements that count, the floor added.
double log_distance(const std::vector<double>& a, const std::vector<double>& b,
                    const Spread& legal) {
  double sum = 0, n = 0;
  for (std::size_t i = 0; i < std::min({a.size(), b.size(), legal.errs.size()}); ++i) {
    if (!legal.errs[i] || !std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    ++n;
  }
  return std::log(std::hypot(n > 0 ? std::sqrt(sum / n) : 0, legal.floor));
}

}  // namespace

std::string_view name(Statistic statistic) {
  constexpr std::array<std::string_view, 4> kNames{"element", "drift", "scale", "apart"};
  return kNames[static_cast<std::size_t>(statistic)];
}

model::Allowance allowance(Statistic statistic, std::string_view rung) {
  if (statistic == Statistic::kApart) return model::kApart;
  const DType narrowest = parse_dtype(rung).value_or(DType::kFloat32);
  const bool half = narrowest == DType::kFloat16 || narrowest == DType::kBFloat16;
  return (half ? model::kHalf : model::kWide).at(static_cast<std::size_t>(statistic));
}

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
    const double ulp = ulp_of(exact, format, i);
    sum += ulp * ulp / 12;
    ++n;
  }
  return n == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(n));
}

Spread spread(const std::vector<std::vector<double>>& legal, const ExactTensor& exact) {
  Spread result;
  if (legal.size() < 2 || exact.values.empty()) return result;
  result.errs = erring(legal, exact);
  if (std::ranges::find(result.errs, true) == result.errs.end()) return result;
  result.floor = rounding_error(exact, result.errs);
  std::vector<double> logs;
  for (const std::vector<double>& run : legal) {
    logs.push_back(std::log(std::hypot(rms_error(run, exact, result.errs), result.floor)));
  }
  const Moments log = moments(logs);
  result.mean_log = log.mean, result.sd_log = log.sd;
  result.sd_drift = sd_of_excess(logs, log.mean);
  add_scales(legal, exact, result);
  std::vector<double> distances;
  for (std::size_t k = 0; k + 1 < legal.size(); k += 2) {
    distances.push_back(log_distance(legal[k], legal[k + 1], result));
  }
  result.mean_apart = moments(distances).mean;
  result.sd_apart = sd_of_excess(distances, result.mean_apart);
  result.valid = true;
  return result;
}

double log_ratio(const std::vector<double>& values, const ExactTensor& exact, const Spread& legal) {
  return std::log(std::hypot(rms_error(values, exact, legal.errs), legal.floor)) - legal.mean_log;
}

std::vector<Deviation> deviations(const std::vector<double>& values, const ExactTensor& exact,
                                  const Spread& legal) {
  Scaled scaled;
  for (std::size_t i = 0; i < std::min(values.size(), legal.scale.size()); ++i) {
    if (!(legal.scale[i] > 0) || !std::isfinite(values[i])) continue;
    scaled.add(signed_error(values[i], exact, i), exact.values[i], legal.scale[i]);
  }
  return {{scaled.element() - legal.mean_element, legal.sd_element},
          {log_ratio(values, exact, legal), legal.sd_drift},
          {scaled.scale() / legal.unit_scale, legal.sd_scale}};
}

Deviation apart(const std::vector<double>& values, const std::vector<double>& eager,
                const Spread& legal) {
  return {log_distance(values, eager, legal) - legal.mean_apart, legal.sd_apart};
}

double excess(Statistic statistic, double value) {
  return statistic == Statistic::kScale ? value : std::max(value, 0.0);
}

}  // namespace ulpfuzz
