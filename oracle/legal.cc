#include <array>
#include <bit>
#include <cmath>

#include "oracle/inputs.h"
#include "oracle/interpreter.h"
#include "oracle/odometer.h"
#include "oracle/oracle.h"
#include "oracle/task.h"

// Legal executions (docs: the table in the design notes). One of them evaluates the functional
// program in double, where
//   - a use of a half-typed value sees it rounded to its dtype with probability round_use, drawn
//     for the whole tensor; operands of extern kernels and results of the program always are;
//     inputs are representable anyway; views round nothing;
//   - a result of a float32 or half-typed step is rounded to float32, the type it would be held in;
//     a product is not, with probability `contract`, since a kernel may add to it in one rounding;
//   - before that it is moved by noise * e * N(0, 1), where e is the step's own error by Running in
//     kRms mode on exact operands. The factor 0.3 is in `noise` and nowhere else. A step that is
//     one correctly rounded operation has e = u |v| and is not moved: its rounding has just been
//     done.
namespace ulpfuzz {

FreedomSet eager_freedom() { return {"eager", 1, 0.3, 0, 0.5}; }
FreedomSet fusing_freedom() { return {"fusing", 0.5, 0.3, 0.5, 0.5}; }

namespace {

bool is_product(const Plan::Step& step) { return step.op->name().starts_with("aten.mul."); }

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

std::uint64_t mix(std::uint64_t z) {  // SplitMix64's output function, as in ir/fill.h
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
std::uint64_t draw(std::uint64_t key, std::uint64_t index) {
  return mix(key + (index + 1) * 0x9E3779B97F4A7C15);
}
double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// A bell curve of unit variance from eight 16-bit pieces; within 4.9 standard deviations.
double bell(std::uint64_t key, std::uint64_t index) {
  std::int64_t sum = -8 * 65535 / 2;
  for (const std::uint64_t bits : {draw(key, 2 * index), draw(key, 2 * index + 1)}) {
    for (int piece = 0; piece < 64; piece += 16)
      sum += static_cast<std::int64_t>(bits >> piece & 0xFFFF);
  }
  // The variance of the sum is 8 (2^32 - 1) / 12.
  return static_cast<double>(sum) * 0x1.3988e1409212ep-16;  // sqrt(12 / 8) / 2^16
}

// Rounds to the nearest number of a half type, ties to even; the common case by integer arithmetic
// on double's bits.
class HalfRounding {
 public:
  explicit HalfRounding(DType dtype)
      : dtype_(dtype),
        drop_(53 - float_format(dtype).precision),
        largest_(float_format(dtype).max_finite),
        smallest_(std::ldexp(1.0, float_format(dtype).min_exponent)) {}

  double operator()(double value) const {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t lowest = bits >> drop_ & 1;
    const std::uint64_t rounded =
        (bits + ((std::uint64_t{1} << (drop_ - 1)) - 1 + lowest)) >> drop_ << drop_;
    const double result = std::bit_cast<double>(rounded);
    const bool ordinary = std::fabs(result) <= largest_ && std::fabs(value) >= smallest_;
    return ordinary ? result : round_to(dtype_, value);
  }

 private:
  DType dtype_;
  int drop_;
  double largest_, smallest_;  // of normal numbers
};

// Records the error that each step adds on its own, element by element in row-major order.
class LocalErrors : public Policy<Running<double>> {
 public:
  explicit LocalErrors(int slots) : errors_(static_cast<std::size_t>(slots)) {}

  void finish(const Plan::Step& step, int slot, Tensor<Running<double>>& result) override {
    if (result.integral()) return;
    std::vector<double>& errors = errors_[static_cast<std::size_t>(slot)];
    const std::int64_t width = is_complex(result.dtype()) ? 2 : 1;
    errors.resize(static_cast<std::size_t>(result.size() * width));
    bool any = false;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      Running<double>& x = result.real(static_cast<std::int64_t>(i));
      const bool one_rounding = x.e <= 1.0001 * step.model.unit * std::fabs(x.v);
      errors[i] = std::isfinite(x.e) && !one_rounding ? x.e : 0;
      any = any || errors[i] > 0;
      x.e = 0;
      x.marks = 0;
    }
    if (!any) errors.clear();
  }
  const std::vector<double>& of(int slot) const { return errors_[static_cast<std::size_t>(slot)]; }

 private:
  std::vector<std::vector<double>> errors_;
};

class LegalExecution : public Policy<double> {
 public:
  LegalExecution(const Plan& plan, const LocalErrors& local, const FreedomSet& freedom,
                 std::uint64_t key)
      : local_(local),
        freedom_(freedom),
        key_(key),
        rounded_(static_cast<std::size_t>(plan.slots())) {}

  void begin(const Plan::Step& step, Kernel<double>& kernel) override {
    const bool nominal = step.op->row->numerics.rounds_numbers && !chance(freedom_.scalar_opmath);
    kernel.round_numbers_to(nominal ? step.compute : opmath(step.compute));
  }

  Tensor<double> use(const Plan::Step& step, int slot, const Tensor<double>& value) override {
    if (!is_half(value.dtype())) return value;
    const bool draws = chance(freedom_.round_use);
    return draws || step.op->row->numerics.extern_kernel ? rounded(slot, value) : value;
  }

  void finish(const Plan::Step& step, int slot, Tensor<double>& result) override {
    if (result.integral()) return;
    const DType nominal = real_part(result.dtype());
    const std::vector<double>& errors = local_.of(slot);
    const auto n = static_cast<std::size_t>(result.size() * (is_complex(result.dtype()) ? 2 : 1));
    double* values = result.reals();
    if (freedom_.noise > 0 && errors.size() == n) {
      const std::uint64_t key = draw(key_, static_cast<std::uint64_t>(slot));
      for (std::size_t i = 0; i < n; ++i) values[i] += freedom_.noise * errors[i] * bell(key, i);
    }
    if (nominal == DType::kFloat64) return;
    if (is_half(nominal) && step.op->row->numerics.extern_kernel) {
      const HalfRounding round(nominal);
      for (std::size_t i = 0; i < n; ++i) values[i] = round(values[i]);
    } else if (!is_product(step) || !chance(freedom_.contract)) {
      for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<double>(static_cast<float>(values[i]));
    }
  }

  // A result of the program: stored in its dtype.
  const Tensor<double>& rounded(int slot, const Tensor<double>& value) {
    Tensor<double>& copy = rounded_[static_cast<std::size_t>(slot)];
    if (copy.defined()) return copy;
    copy = value.contiguous();
    const HalfRounding round(value.dtype());
    double* values = copy.reals();
    const std::int64_t n = copy.size();
    for (std::int64_t i = 0; i < n; ++i) values[i] = round(values[i]);
    return copy;
  }

 private:
  bool chance(double probability) {
    return unit_interval(draw(key_ ^ 0x5851F42D4C957F2D, uses_++)) < probability;
  }

  const LocalErrors& local_;
  const FreedomSet& freedom_;
  std::uint64_t key_;
  std::uint64_t uses_ = 0;
  std::vector<Tensor<double>> rounded_;  // by slot, made when first asked for
};

std::vector<double> elements(const Tensor<double>& value) {
  const Tensor<double> plain = value.is_contiguous() ? value : value.contiguous();
  const std::int64_t width = is_complex(value.dtype()) ? 2 : 1;
  const double* first = plain.reals() + plain.offset() * width;
  std::vector<double> all(first, first + plain.size() * width);
  if (real_part(value.dtype()) == DType::kFloat32) {
    for (double& x : all) x = static_cast<double>(static_cast<float>(x));
  }
  return all;
}

}  // namespace

LegalRuns Oracle::legal(const Case& lowered, std::uint64_t salt, const FreedomSet& freedom,
                        int runs, std::uint64_t seed) const {
  const Task task(lowered, table_, Task::Form::kFunctional);
  const Plan& plan = task.plan();
  LocalErrors local(plan.slots());
  interpret(plan, make_inputs<Running<double>>(task.bound(), task.input_types(), salt), local,
            ErrorMode::kRms);
  const std::vector<Tensor<double>> inputs =
      make_inputs<double>(task.bound(), task.input_types(), salt);  // never written
  LegalRuns legal;
  legal.values.resize(task.results().size());
  for (int run = 0; run < runs; ++run) {
    LegalExecution execution(plan, local, freedom,
                             draw(mix(seed), static_cast<std::uint64_t>(run)));
    const std::vector<Tensor<double>> values = interpret(plan, inputs, execution);
    for (std::size_t i = 0; i < task.results().size(); ++i) {
      const WantedResult& result = task.results()[i];
      if (result.slot == Plan::kNone || is_integral(result.type.dtype)) continue;
      const Tensor<double>& value = values[static_cast<std::size_t>(result.slot)];
      legal.values[i].push_back(
          elements(is_half(value.dtype()) ? execution.rounded(result.slot, value) : value));
    }
  }
  return legal;
}

}  // namespace ulpfuzz
