#include "report/witness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/elements.h"
#include "judge/judge.h"
#include "judge/model.h"
#include "judge/rung.h"

namespace ulpfuzz {
namespace {

bool is_numeric(VerdictKind kind) {
  return kind == VerdictKind::kWrong || kind == VerdictKind::kNanMismatch ||
         kind == VerdictKind::kLessAccurate;
}

std::vector<double> numbers(const TensorResult& result) {
  if (!is_integral(result.layout.dtype)) return result.reals();
  const std::vector<std::int64_t> integers = result.integers();
  return {integers.begin(), integers.end()};
}

const TensorResult* result_of(const Run& run, const std::string& tensor) {
  return run.executions.empty() ? nullptr : run.executions.front().find(tensor);
}

bool acceptable(const ExactTensor& exact, std::size_t i, double value) {
  if (i >= exact.acceptable.size() || exact.acceptable[i].empty()) {
    return value == static_cast<double>(exact.integers[i]);
  }
  const auto& set = exact.acceptable[i];
  return std::any_of(set.begin(), set.end(),
                     [&](std::int64_t index) { return static_cast<double>(index) == value; });
}

// How far the value is from exact; infinite where only one of them is finite.
double distance(double value, const ExactTensor& exact, std::size_t i) {
  if (exact.values.empty()) return acceptable(exact, i, value) ? 0 : 1;
  const double e = exact.values[i];
  if (std::isfinite(value) && std::isfinite(e)) return error_of(value, exact, i);
  const bool same = value == e || (std::isnan(value) && std::isnan(e));
  return same ? 0 : std::numeric_limits<double>::infinity();
}

// The element that speaks most against the system: its error in units of what is allowed, where
// eager's is smaller.
std::optional<std::size_t> worst(const std::vector<double>& got, const std::vector<double>* eager,
                                 const ExactTensor& exact) {
  const std::size_t n = std::max(exact.values.size(), exact.integers.size());
  if (got.size() != n) return std::nullopt;
  std::optional<std::size_t> found;
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (marks_of(exact, i) != 0) continue;
    const double error = distance(got[i], exact, i);
    if (eager != nullptr && distance((*eager)[i], exact, i) >= error) continue;
    const double bound = exact.bound.empty() ? 0 : bound_of(exact, i);
    const double share = error / (bound > 0 ? bound : std::numeric_limits<double>::min());
    if (error > 0 && (share > most || !found)) {
      most = share;
      found = i;
    }
  }
  return found;
}

void set_allowed(Witness& w) {
  if (w.integral()) return;
  const double error = distance(w.value, w.exact, w.index);
  const double bound = judge_model::kBoundFactor * bound_of(w.exact, w.index);
  w.from_bound = error > bound;
  if (w.from_bound) {
    w.allowed = bound;
  } else {
    w.allowed = std::isfinite(error) ? error / 2 : std::numeric_limits<double>::max();
  }
}

}  // namespace

const Fact& leading_fact(const Finding& finding) {
  static const Fact kNone;
  const auto it = std::find_if(finding.verdict.facts.begin(), finding.verdict.facts.end(),
                               [&](const Fact& f) { return f.kind == finding.signature.kind; });
  return it == finding.verdict.facts.end() ? kNone : *it;
}

double Witness::exact_value() const {
  return integral() ? static_cast<double>(exact.integers[index]) : exact.values[index];
}

std::vector<std::int64_t> Witness::subscripts() const {
  Shape shape = exact.type.shape;
  if (is_complex(exact.type.dtype)) shape.push_back(2);
  std::vector<std::int64_t> result(shape.size());
  auto rest = static_cast<std::int64_t>(index);
  for (std::size_t d = shape.size(); d-- > 0;) {
    result[d] = rest % shape[d];
    rest /= shape[d];
  }
  return result;
}

std::optional<Witness> witness(const Finding& finding, const OpTable& table) {
  if (!is_numeric(finding.signature.kind)) return std::nullopt;
  const Fact& fact = leading_fact(finding);
  if (fact.strength == "relation") return std::nullopt;  // shown by two runs
  Witness w;
  w.shown = bind_symbols(finding.minimal);
  w.tensor = fact.tensor;
  const std::optional<DType> rung = parse_dtype(fact.rung);
  if (rung && *rung != narrowest_floating(finding.minimal)) {
    // Seen on a higher rung: that case is the one to show. Its runs are not kept, its measures are.
    const auto measure = std::find_if(
        finding.verdict.measures.begin(), finding.verdict.measures.end(),
        [&](const TensorMeasure& m) { return m.tensor == fact.tensor && m.rung == fact.rung; });
    if (measure == finding.verdict.measures.end()) return std::nullopt;
    w.shown = at_rung(w.shown, *rung, table);
    const Exact exact = Oracle(table).exact(w.shown);
    const ExactTensor* tensor = exact.find(fact.tensor);
    if (tensor == nullptr || measure->worst_index < 0) return std::nullopt;
    w.exact = *tensor;
    w.index = static_cast<std::size_t>(measure->worst_index);
    w.value = measure->worst_value;
    w.eager = measure->worst_eager;
  } else {
    const ExactTensor* tensor = finding.exact.find(fact.tensor);
    const TensorResult* got = result_of(finding.system_run, fact.tensor);
    if (tensor == nullptr || got == nullptr || !got->present) return std::nullopt;
    w.exact = *tensor;
    const std::vector<double> values = numbers(*got);
    const TensorResult* beside = result_of(finding.eager_run, fact.tensor);
    const bool same_type = beside != nullptr && beside->present &&
                           beside->layout.shape == got->layout.shape && beside != got;
    const std::vector<double> eager = same_type ? numbers(*beside) : std::vector<double>();
    const bool is_eager = finding.signature.system.starts_with("eager");
    const std::optional<std::size_t> index =
        worst(values, same_type && !is_eager ? &eager : nullptr, w.exact);
    if (!index) return std::nullopt;
    w.index = *index;
    w.value = values[*index];
    if (same_type) w.eager = eager[*index];
  }
  const std::size_t n = std::max(w.exact.values.size(), w.exact.integers.size());
  if (w.index >= n) return std::nullopt;
  set_allowed(w);
  return w;
}

}  // namespace ulpfuzz
