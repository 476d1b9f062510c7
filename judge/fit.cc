#include "judge/fit.h"

#include <algorithm>
#include <cmath>

#include "judge/elements.h"
#include "judge/model.h"

namespace ulpfuzz {
namespace {

std::vector<double> numbers(const TensorResult& result) {
  if (!is_integral(result.layout.dtype)) return result.reals();
  const std::vector<std::int64_t> integers = result.integers();
  return {integers.begin(), integers.end()};
}

// Half the distance between neighbours of y in the dtype.
double half_ulp(double y, const FloatFormat& format) {
  if (y == 0) return format.min_subnormal / 2;
  return std::max(std::ldexp(1.0, std::ilogb(y) - format.precision), format.min_subnormal / 2);
}

// |y - z| beyond what storing z as y does. An infinity or NaN on one side counts as `apart`.
double beyond_rounding(double y, double z, DType dtype, double apart) {
  if (std::isnan(y) && std::isnan(z)) return 0;
  if (y == z || round_to(dtype, z) == y) return 0;
  if (!std::isfinite(y) || !std::isfinite(z)) return apart;
  return std::max(0.0, std::fabs(y - z) - half_ulp(y, float_format(dtype)));
}

bool has_near_tie(const ExactTensor& exact) {
  return std::ranges::any_of(exact.marks,
                             [](std::uint8_t marks) { return (marks & kNearTie) != 0; });
}

}  // namespace

Fit::Fit(const Replay& replay, const Exact& exact, const Execution& system) : replay_(replay) {
  if (std::ranges::any_of(exact.tensors, has_near_tie)) ties_ = replay.ties(judge_model::kMostTies);
  for (std::size_t t = 0; t < replay.results(); ++t) {
    const ExactTensor& truth = exact.tensors[t];
    const TensorResult* result = system.find(truth.name);
    const bool usable = result != nullptr && result->present && truth.present &&
                        result->layout.dtype == truth.type.dtype &&
                        result->layout.shape == truth.type.shape;
    system_.push_back(usable ? numbers(*result) : std::vector<double>());
    std::vector<std::uint8_t> marks;
    double squares = 0;
    std::size_t finite = 0;
    for (std::size_t i = 0; i < system_.back().size(); ++i) {
      marks.push_back(marks_of(truth, i));
      const bool tainted = (marks.back() & kNearTie) != 0;
      (tainted ? any_tainted_ : any_untainted_) = true;
      const double x = truth.values.empty() ? 0 : truth.values[i];
      if (!std::isfinite(x)) continue;
      squares += x * x;
      ++finite;
    }
    marks_.push_back(std::move(marks));
    size_.push_back(finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(finite)));
  }
}

bool Fit::counts(std::size_t t, std::size_t i) const {
  const std::uint8_t marks = marks_[t][i];
  if ((marks & kUndefined) != 0) return false;
  return !leave_out_tainted_ || (marks & kNearTie) == 0;
}

double Fit::residual(const Replay::State& state, std::size_t t) const {
  const std::vector<double>& y = system_[t];
  if (y.empty()) return 0;
  const DType dtype = replay_.result_type(t).dtype;
  const std::vector<double> z = replay_.result(state, t);
  double squares = 0;
  std::size_t n = 0;
  for (std::size_t i = 0; i < std::min(y.size(), z.size()); ++i) {
    if (!counts(t, i)) continue;
    const double d = is_integral(dtype)
                         ? static_cast<double>(y[i] != z[i])
                         : beyond_rounding(y[i], z[i], real_part(dtype), 1e3 * size_[t] + 1);
    squares += d * d;
    ++n;
  }
  return n == 0 ? 0 : std::sqrt(squares / static_cast<double>(n));
}

std::vector<double> Fit::residuals(const Replay::State& state) const {
  std::vector<double> all;
  for (std::size_t t = 0; t < tensors(); ++t) all.push_back(residual(state, t));
  return all;
}

std::vector<double> Fit::residuals(const Replay::State& state, const Replay::State& near,
                                   const std::vector<double>& of_near) const {
  std::vector<double> all = of_near;
  for (std::size_t t = 0; t < tensors(); ++t) {
    if (!replay_.same_result(state, near, t)) all[t] = residual(state, t);
  }
  return all;
}

std::vector<double> Fit::distance(const Replay::State& a, const Replay::State& b) const {
  std::vector<double> all(tensors(), 0.0);
  for (std::size_t t = 0; t < tensors(); ++t) {
    if (!compared(t) || replay_.same_result(a, b, t)) continue;
    const bool integral = is_integral(replay_.result_type(t).dtype);
    const std::vector<double> x = replay_.result(a, t), y = replay_.result(b, t);
    double squares = 0;
    std::size_t n = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!counts(t, i)) continue;
      const double d = integral ? static_cast<double>(x[i] != y[i]) : x[i] - y[i];
      if (std::isfinite(d)) squares += d * d;
      ++n;
    }
    all[t] = n == 0 ? 0 : std::sqrt(squares / static_cast<double>(n));
  }
  return all;
}

std::vector<double> Fit::noise(const Replay::Decisions& decisions, const Replay::State& state,
                               int runs) const {
  std::vector<double> squares(tensors(), 0.0);
  Replay::Decisions noisy = decisions;
  noisy.noise = 1;
  noisy.branches.clear();
  for (const Replay::Tie& tie : ties_) {
    if (tie.others.empty()) continue;
    noisy.branches.push_back({tie.slot, tie.element, replay_.value(state, tie.slot, tie.element)});
  }
  for (int run = 0; run < runs; ++run) {
    noisy.seed = static_cast<std::uint64_t>(run);
    const std::vector<double> d = distance(*replay_.run(noisy), state);
    for (std::size_t t = 0; t < tensors(); ++t) squares[t] += d[t] * d[t] / runs;
  }
  for (std::size_t t = 0; t < tensors(); ++t) {
    // A float32 operation's own rounding, where no step of the program has any noise; of integers
    // a tenth of an element.
    const bool integral = is_integral(replay_.result_type(t).dtype);
    const double elements = static_cast<double>(std::max<std::size_t>(system_[t].size(), 1));
    const double least = integral ? 0.1 / std::sqrt(elements) : 0x1p-26 * size_[t] + 1e-300;
    squares[t] = std::sqrt(squares[t] + least * least);
  }
  return squares;
}

}  // namespace ulpfuzz
