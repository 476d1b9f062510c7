#include "calibration/effect.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "judge/elements.h"
#include "judge/facts.h"

namespace ulpfuzz {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kAboveEager = 3;  // times its RMS error

std::vector<double> numbers(const ExactTensor& tensor) {
  if (!tensor.values.empty()) return tensor.values;
  return {tensor.integers.begin(), tensor.integers.end()};
}

std::vector<double> numbers(const TensorResult& result) {
  if (!is_integral(result.layout.dtype)) return result.reals();
  const std::vector<std::int64_t> integers = result.integers();
  return {integers.begin(), integers.end()};
}

double eager_error(const Verdict& eager, const std::string& tensor) {
  for (const TensorMeasure& m : eager.measures) {
    if (m.tensor == tensor && m.input_set == 0 && m.has_error) return m.rms_error;
  }
  return 0;
}

// A result that is nothing beside the others is zero up to rounding, whatever its own digits say.
constexpr double kNothing = 1e-6;

double rms(const std::vector<double>& x) {
  double sum = 0, n = 0;
  for (const double v : x) {
    if (std::isfinite(v)) sum += v * v, ++n;
  }
  return n == 0 ? 0 : std::sqrt(sum / n);
}

double scale_of(const Exact& exact) {
  double scale = 0;
  for (const ExactTensor& tensor : exact.tensors) scale = std::max(scale, rms(numbers(tensor)));
  return scale;
}

// The change of one tensor between `before` and `after`, over the elements of `exact` that have a
// right value. `least`: what its size is taken for where it is smaller.
double relative_change(const ExactTensor& exact, const std::vector<double>& before,
                       const std::vector<double>& after, double error_of_eager, double least) {
  if (before.size() != after.size()) return kInfinite;
  double change = 0, size = 0, n = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (standing(exact, i) == Standing::kMasked) continue;
    if (std::isfinite(before[i]) != std::isfinite(after[i])) return kInfinite;
    if (!std::isfinite(before[i])) continue;
    change += std::pow(after[i] - before[i], 2);
    size += before[i] * before[i];
    ++n;
  }
  if (change == 0 || std::sqrt(change / n) < kAboveEager * error_of_eager) return 0;
  const double divisor = std::max(std::sqrt(size / n), least);
  return divisor == 0 ? kInfinite : std::sqrt(change / n) / divisor;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Where several indices are right, as with ties, another of them is no change.
bool as_right(const ExactTensor& exact, std::size_t i, double value) {
  if (i >= exact.acceptable.size()) return false;
  return std::ranges::find(exact.acceptable[i], static_cast<std::int64_t>(value)) !=
         exact.acceptable[i].end();
}

bool as_good(const ExactTensor& exact, const std::vector<double>& before,
             const std::vector<double>& after) {
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!same_number(before[i], after[i]) && !as_right(exact, i, after[i])) return false;
  }
  return before.size() == after.size();
}

// Are the results of a perfect system the same?
bool rounds_alike(const ExactTensor& a, const ExactTensor& b) {
  const std::vector<double> x = numbers(a), y = numbers(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (standing(a, i) == Standing::kMasked) continue;
    const bool floating = !is_integral(a.type.dtype);
    const DType dtype = real_part(a.type.dtype);
    const double p = floating ? round_to(dtype, x[i]) : x[i];
    const double q = floating ? round_to(dtype, y[i]) : y[i];
    if (!same_number(p, q) && !as_right(a, i, q)) return false;
  }
  return true;
}

bool same_kind(const ExactTensor& a, const ExactTensor& b) {
  return a.present == b.present && a.type.dtype == b.type.dtype && a.type.shape == b.type.shape;
}

// In exact values; nothing where they are the same.
Effect in_meaning(const Exact& clean, const Exact& planted, const Verdict& eager) {
  Effect effect;
  const double least = kNothing * scale_of(clean);
  for (const ExactTensor& before : clean.tensors) {
    const ExactTensor* after = planted.find(before.name);
    if (after == nullptr || !same_kind(before, *after)) return {true, kInfinite};
    if (!before.present || rounds_alike(before, *after)) continue;
    effect.any = true;
    effect.relative =
        std::max(effect.relative, relative_change(before, numbers(before), numbers(*after),
                                                  eager_error(eager, before.name), least));
  }
  return effect;
}

// What eager and a system must have in common; autograd promises no strides of gradients.
bool structure_differs(const TensorResult& a, const TensorResult& b) {
  const bool promised =
      a.role != TensorResult::Role::kGradient && element_count(a.layout.shape) > 0;
  return a.present != b.present || a.layout.dtype != b.layout.dtype ||
         a.layout.shape != b.layout.shape ||
         (promised && (a.layout.strides != b.layout.strides || a.alias_of != b.alias_of));
}

bool structure_differs(const Run& clean, const Run& run) {
  if (clean.status != run.status || attention_kernels(clean) != attention_kernels(run)) return true;
  if (clean.executions.empty() || run.executions.empty()) return false;
  return std::ranges::any_of(clean.executions.front().tensors, [&](const TensorResult& before) {
    const TensorResult* after = run.executions.front().find(before.name);
    return after == nullptr || structure_differs(before, *after);
  });
}

// In the numbers of runs that have the same structure.
Effect in_runs(const Exact& exact, const Run& clean, const Run& run, const Verdict& eager) {
  Effect effect;
  if (clean.executions.empty() || run.executions.empty()) return effect;
  const double least = kNothing * scale_of(exact);
  for (const TensorResult& result : clean.executions.front().tensors) {
    if (!result.present) continue;
    const std::vector<double> before = numbers(result);
    const std::vector<double> after = numbers(*run.executions.front().find(result.name));
    const ExactTensor* truth = exact.find(result.name);
    if (truth == nullptr || as_good(*truth, before, after)) continue;
    effect.any = true;
    effect.relative =
        std::max(effect.relative,
                 relative_change(*truth, before, after, eager_error(eager, result.name), least));
  }
  return effect;
}

}  // namespace

Effect effect_of(const Exact& clean, const Exact* planted, const Run& clean_run, const Run& run,
                 const Verdict& eager) {
  Effect effect;
  if (planted != nullptr) effect = in_meaning(clean, *planted, eager);
  if (effect.any) return effect;
  if (structure_differs(clean_run, run)) return {true, kInfinite};
  effect = in_runs(clean, clean_run, run, eager);
  if (planted != nullptr) effect.relative = 0;
  return effect;
}

}  // namespace ulpfuzz
