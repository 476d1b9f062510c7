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

// The change of one tensor between `before` and `after`, over the elements of `exact` that have a
// right value.
double relative_change(const ExactTensor& exact, const std::vector<double>& before,
                       const std::vector<double>& after, double error_of_eager) {
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
  return size == 0 ? kInfinite : std::sqrt(change / size);
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
    if (p != q && !(std::isnan(p) && std::isnan(q))) return false;
  }
  return true;
}

bool same_kind(const ExactTensor& a, const ExactTensor& b) {
  return a.present == b.present && a.type.dtype == b.type.dtype && a.type.shape == b.type.shape;
}

// In exact values; nothing where they are the same.
Effect in_meaning(const Exact& clean, const Exact& planted, const Verdict& eager) {
  Effect effect;
  for (const ExactTensor& before : clean.tensors) {
    const ExactTensor* after = planted.find(before.name);
    if (after == nullptr || !same_kind(before, *after)) return {true, kInfinite};
    if (!before.present || rounds_alike(before, *after)) continue;
    effect.any = true;
    effect.relative = std::max(
        effect.relative,
        relative_change(before, numbers(before), numbers(*after), eager_error(eager, before.name)));
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

Effect in_runs(const Exact& exact, const Run& clean, const Run& run, const Verdict& eager) {
  if (clean.status != run.status || attention_kernels(clean) != attention_kernels(run)) {
    return {true, kInfinite};
  }
  if (clean.executions.empty() || run.executions.empty()) return {};
  Effect effect;
  for (const TensorResult& before : clean.executions.front().tensors) {
    const TensorResult* after = run.executions.front().find(before.name);
    if (after == nullptr || structure_differs(before, *after)) return {true, kInfinite};
    if (!before.present || before.bytes == after->bytes) continue;
    effect.any = true;
    const ExactTensor* truth = exact.find(before.name);
    if (truth == nullptr) continue;
    effect.relative = std::max(
        effect.relative,
        relative_change(*truth, numbers(before), numbers(*after), eager_error(eager, before.name)));
  }
  return effect;
}

}  // namespace

Effect effect_of(const Exact& clean, const Exact* planted, const Run& clean_run, const Run& run,
                 const Verdict& eager) {
  if (planted == nullptr) return in_runs(clean, clean_run, run, eager);
  Effect effect = in_meaning(clean, *planted, eager);
  if (effect.any) return effect;
  effect = in_runs(clean, clean_run, run, eager);
  if (std::isfinite(effect.relative)) effect.relative = 0;
  return effect;
}

}  // namespace ulpfuzz
