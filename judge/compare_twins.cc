#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "judge/model.h"
#include "judge/twins.h"

namespace ulpfuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> numbers(const TensorResult& result) {
  if (!is_integral(result.layout.dtype)) return result.reals();
  const std::vector<std::int64_t> integers = result.integers();
  return {integers.begin(), integers.end()};
}

const Execution* execution_of(const Run& run, std::uint64_t set) {
  const auto found = std::ranges::find(run.executions, set, &Execution::input_set);
  return found == run.executions.end() ? nullptr : &*found;
}

// "" for equal.
std::string difference(const TensorResult& one, const TensorResult* other, std::uint64_t set) {
  if (other == nullptr || one.present != other->present) return "is there in one form alone";
  if (!one.present || one.bytes == other->bytes) return "";
  if (one.layout.dtype != other->layout.dtype || one.layout.shape != other->layout.shape) {
    return fmt::format("is {} in one form and {} in the other", to_string(one.layout),
                       to_string(other->layout));
  }
  const std::vector<double> a = numbers(one), b = numbers(*other);
  std::size_t count = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return "";
  return fmt::format("differs in {} of {} elements: {} and {} at [{}], on input set {}", count,
                     a.size(), a[first], b[first], first, set);
}

double quartile(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 3 / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// |a - b| of each element, infinite where one of the two alone is finite.
std::vector<double> distances(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool finite = std::isfinite(a[i]) && std::isfinite(b[i]);
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    result[i] = finite ? std::abs(a[i] - b[i]) : same ? 0 : kInfinity;
  }
  return result;
}

double ulp(double value, const FloatFormat& format) {
  return std::max(2 * format.unit_roundoff * std::abs(value), format.min_subnormal);
}

// The results of one name and input set in all the runs there are.
class FormValues {
 public:
  FormValues(const SpreadRuns& runs, const std::string& tensor, std::uint64_t set, DType narrow)
      : format_(float_format(narrow)), is_eager_(runs.one == runs.eager_one) {
    const Run* of[]{runs.one,         runs.other,    runs.eager_one,
                    runs.eager_other, runs.wide_one, runs.wide_other};
    for (std::size_t i = 0; i < std::size(of); ++i) {
      const Execution* e = of[i] == nullptr ? nullptr : execution_of(*of[i], set);
      const TensorResult* result = e == nullptr ? nullptr : e->find(tensor);
      if (result == nullptr || !result->present || is_integral(result->layout.dtype)) continue;
      values_[i] = result->reals();
      if (!values_[0].empty() && values_[i].size() != values_[0].size()) values_[i].clear();
    }
  }
  bool complete() const {
    return values_[0].size() >= judge_model::kRelationElements && has(1) && has(2) && has(4);
  }

  // What both forms spread, of each element. Of eager itself the nearer form says it: what it does
  // wrong in one of them is no rounding.
  std::vector<double> spreads() const {
    std::vector<double> result(values_[0].size());
    const bool both = has(3) && has(5);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double wide = values_[4][i];
      const double first = std::abs(values_[2][i] - wide);
      const double second = both ? std::abs(values_[3][i] - values_[5][i]) : first;
      result[i] = is_eager_ ? std::hypot(ulp(wide, format_), std::min(first, second))
                            : std::hypot(ulp(wide, format_), first, second);
      if (!std::isfinite(result[i])) result[i] = kInfinity;  // then nothing is asked of it
    }
    return result;
  }
  double between(std::size_t a, std::size_t b) const {
    return has(a) && has(b) ? quartile(distances(values_[a], values_[b])) : 0;
  }
  bool has(std::size_t run) const { return !values_[run].empty(); }

 private:
  const FloatFormat& format_;
  bool is_eager_;
  std::vector<double> values_[6];
};

void take(Apart& a, const FormValues& e) {
  const double spread = quartile(e.spreads());
  if (!(spread > 0) || std::isinf(spread)) {
    a.ratio = 0;
    return;
  }
  a.ratio = std::min(a.ratio, e.between(0, 1) / spread);
  a.eager_ratio = std::max(a.eager_ratio, e.between(2, 3) / spread);
  a.wide_ratio = std::max(a.wide_ratio, e.between(4, 5) / spread);
  a.one_off = std::max(a.one_off, e.between(0, 4) / spread);
  a.other_off = std::max(a.other_off, e.between(1, e.has(5) ? 5 : 4) / spread);
}

}  // namespace

std::optional<Unequal> unequal_bits(const Run& one, const Run& other, bool gradients) {
  std::map<std::string, std::string> unequal;
  for (const Execution& first : one.executions) {
    const Execution* second = execution_of(other, first.input_set);
    if (second == nullptr) continue;
    for (const TensorResult& result : first.tensors) {
      if (!gradients && result.role == TensorResult::Role::kGradient) continue;
      std::string what = difference(result, second->find(result.name), first.input_set);
      if (!what.empty()) unequal.emplace(result.name, std::move(what));
    }
  }
  if (unequal.empty()) return std::nullopt;
  // The first in the run's order.
  for (const TensorResult& result : one.executions.front().tensors) {
    const auto found = unequal.find(result.name);
    if (found == unequal.end()) continue;
    return Unequal{found->first, found->second, static_cast<int>(unequal.size()) - 1};
  }
  return Unequal{unequal.begin()->first, unequal.begin()->second,
                 static_cast<int>(unequal.size()) - 1};
}

std::vector<Apart> apart(const SpreadRuns& runs) {
  std::vector<Apart> all;
  if (runs.one->executions.empty()) return all;
  for (const TensorResult& result : runs.one->executions.front().tensors) {
    if (!result.present || is_integral(result.layout.dtype)) continue;
    Apart a;
    a.tensor = result.name;
    a.ratio = kInfinity;
    bool complete = true;
    for (const Execution& execution : runs.one->executions) {
      const FormValues e(runs, result.name, execution.input_set, result.layout.dtype);
      complete = complete && e.complete();
      if (!complete) break;
      take(a, e);
      ++a.sets;
    }
    if (complete && a.sets > 0) all.push_back(std::move(a));
  }
  return all;
}

}  // namespace ulpfuzz
