#include "oracle/execution.h"
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

using namespace execution;

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
    if (!copy.defined()) copy = rounded_half(value);
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
