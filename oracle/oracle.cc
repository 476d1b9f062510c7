#include "oracle/oracle.h"

#include <time.h>

#include "oracle/exact.h"
#include "oracle/inputs.h"
#include "oracle/odometer.h"
#include "oracle/task.h"

namespace ulpfuzz {

namespace {

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Splits a number into a double and what is left of it.
template <class B>
void append(ExactTensor& to, const Running<B>& x) {
  const double high = base::narrow(x.v);
  to.values.push_back(high);
  if constexpr (!std::is_same_v<B, double>) {
    to.low.push_back(internal::is_finite(x.v) && std::isfinite(high) ? base::narrow(B(x.v - high))
                                                                     : 0);
  }
}

template <class B>
void read(ExactTensor& to, const Tensor<Running<B>>& value) {
  for (const std::int64_t at : positions(value.shape(), value.strides(), value.offset())) {
    if (value.integral()) {
      const MarkedInt& i = value.integer(at);
      to.integers.push_back(i.v);
      to.marks.push_back(i.marks);
      to.bound.push_back(i.marks & (kNearTie | kUndefined) ? internal::kInfinity : 0);
    } else if (is_complex(value.dtype())) {
      const Running<B>&re = value.real(2 * at), &im = value.real(2 * at + 1);
      append(to, re);
      append(to, im);
      to.bound.push_back(std::hypot(re.e, im.e));
      to.marks.push_back(re.marks | im.marks);
    } else {
      const Running<B>& x = value.real(at);
      append(to, x);
      to.bound.push_back(x.e);
      to.marks.push_back(x.marks);
    }
  }
}

// Errors of `deviations` times their expected size.
template <class B>
class DeviationPolicy : public BoundPolicy<B> {
 public:
  void begin(const Plan::Step& /*step*/, Kernel<Running<B>>& /*kernel*/) override {
    ErrorModel& model = ErrorModel::current();
    model.deviations = Oracle::kDeviations;
    model.unit *= model.deviations;
    model.scalar_unit *= model.deviations;
  }
};

// `given`: a salt, or the elements of each input.
template <class B, class Given>
void evaluate(const Task& task, const Given& given, ErrorMode mode, BoundPolicy<B>&& policy,
              Exact& exact) {
  const auto values = interpret(
      task.plan(), make_inputs<Running<B>>(task.bound(), task.input_types(), given), policy, mode);
  for (const WantedResult& result : task.results()) {
    ExactTensor tensor;
    tensor.role = result.role;
    tensor.name = result.name;
    tensor.type = result.type;
    tensor.present = result.slot != Plan::kNone;
    if (tensor.present) read(tensor, values[static_cast<std::size_t>(result.slot)]);
    if (tensor.present) tensor.acceptable = policy.acceptable(result.slot);
    exact.tensors.push_back(std::move(tensor));
  }
}

template <class Given>
Exact exact_of(const Task& task, const Given& given) {
  Exact exact;
  exact.quad = task.plan().has_float64();
  if (exact.quad) {
    evaluate(task, given, ErrorMode::kBound, BoundPolicy<Quad>(), exact);
  } else {
    evaluate(task, given, ErrorMode::kBound, BoundPolicy<double>(), exact);
  }
  return exact;
}

}  // namespace

const ExactTensor* Exact::find(std::string_view name) const {
  for (const ExactTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Exact Oracle::exact(const Case& lowered, std::uint64_t salt) const {
  const double start = thread_cpu_seconds();
  const Task task(lowered, table_, Task::Form::kAsWritten);
  Exact exact = exact_of(task, salt);
  exact.cpu_seconds = thread_cpu_seconds() - start;
  return exact;
}

Exact Oracle::exact(const Task& task, const std::function<Elements(std::size_t)>& elements) {
  return exact_of(task, elements);
}

Exact Oracle::expected(const Case& lowered, std::uint64_t salt) const {
  const double start = thread_cpu_seconds();
  const Task task(lowered, table_, Task::Form::kAsWritten);
  Exact exact;
  evaluate(task, salt, ErrorMode::kRms, DeviationPolicy<double>(), exact);
  exact.cpu_seconds = thread_cpu_seconds() - start;
  return exact;
}

}  // namespace ulpfuzz
