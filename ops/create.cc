#include <array>
#include <cmath>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/infer.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// Tensors made from numbers alone.
namespace ulpfuzz {
namespace {

bool is_double(const Scalar& number) { return std::holds_alternative<double>(number.value); }

// What torch makes of Python numbers without a dtype.
DType default_dtype(const Scalar& number) {
  if (is_double(number)) return DType::kFloat32;
  return std::holds_alternative<bool>(number.value) ? DType::kBool : DType::kInt64;
}

std::vector<TensorType> infer_full(const Call& call) {
  const Scalar value = call.scalar("fill_value");
  const DType dtype = call.given("dtype") ? call.dtype("dtype") : default_dtype(value);
  if (is_complex(dtype)) call.fail("complex dtypes are not supported");
  require_fits(call, value, dtype);
  const Shape shape = call.integers("size");
  for (const std::int64_t size : shape) {
    if (size < 0) call.fail("a size is negative");
  }
  return {{dtype, shape}};
}

struct FullKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Scalar value = k.call().scalar("fill_value");
    const DType dtype = k.out().dtype();
    if (!k.out().integral()) {
      const T number = constant<T>(value.as_double());
      map(k.out(), [&] { return number; });
      return;
    }
    const std::int64_t whole = dtype == DType::kBool ? value.as_double() != 0
                               : is_double(value)    ? static_cast<std::int64_t>(value.as_double())
                                                     : value.as_integer();
    map(k.out(), [&] { return make_int<T>(whole); });
  }
};

std::vector<TensorType> infer_arange(const Call& call) {
  const Scalar start = call.scalar("start"), end = call.scalar("end"), step = call.scalar("step");
  const bool whole = !is_double(start) && !is_double(end) && !is_double(step);
  DType dtype = whole ? DType::kInt64 : DType::kFloat32;
  if (call.given("dtype")) dtype = call.dtype("dtype");
  if (is_complex(dtype) || dtype == DType::kBool) call.fail("arange gives numbers");
  const double by = step.as_double();
  if (by == 0) call.fail("step must not be zero");
  if (is_integral(dtype) && !whole) call.fail("an integer arange takes integers");
  const double steps = (end.as_double() - start.as_double()) / by;
  if (!(steps >= 0) || !(steps < 1e9)) call.fail("step does not lead from start to end");
  return {{dtype, {static_cast<std::int64_t>(std::ceil(steps))}}};
}

struct ArangeKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Scalar start = k.call().scalar("start"), step = k.call().scalar("step");
    const Tensor<T>& out = k.out();
    const T first = out.integral() ? T{} : constant<T>(start.as_double());
    const T by = out.integral() ? T{} : constant<T>(step.as_double());
    for (std::int64_t i = 0; i < out.size(); ++i) {
      if (out.integral()) {
        const std::int64_t value = wrap_add(start.as_integer(), wrap_mul(i, step.as_integer()));
        out.integer(i) = wrapped(out.dtype(), make_int<T>(value));
      } else {
        out.real(i) = first + widen<T>(static_cast<double>(i)) * by;
      }
    }
  }
};

bool draw_full(Draw& d) {
  std::vector<Dim> size;
  for (std::int64_t rank = d.random().integer(0, 3); rank > 0; --rank) {
    size.emplace_back(d.random().integer(1, 8));
  }
  const DType dtype = d.any_dtype();
  std::vector<NamedArgument> args = {{"size", size}, {"fill_value", d.number(dtype)}};
  if (d.random().chance(0.7)) args.push_back({"dtype", dtype});
  return d.call(std::move(args));
}

bool draw_arange(Draw& d) {
  std::vector<NamedArgument> args;
  const std::int64_t count = d.random().integer(1, 32);
  if (d.random().chance(0.6)) {
    const std::int64_t start = d.random().chance(0.6) ? 0 : d.random().integer(-5, 5);
    const std::int64_t step = d.random().chance(0.7) ? 1 : d.random().integer(2, 3);
    args = {
        {"start", Scalar{start}}, {"end", Scalar{start + count * step}}, {"step", Scalar{step}}};
    if (d.random().chance(0.4)) args.push_back({"dtype", d.floating_dtype()});
  } else {
    // The last one is half a step from the end: the length is not in doubt.
    const double start = static_cast<double>(d.random().integer(-4, 4)) / 2;
    static constexpr std::array kSteps{0.5, 0.25, 1.5, 0.1, -0.5};
    const double step = d.random().pick(kSteps);
    const double end = start + (static_cast<double>(count) - 0.5) * step;
    args = {{"start", Scalar{start}}, {"end", Scalar{end}}, {"step", Scalar{step}}};
  }
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
               "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     .python = "torch.full",
     .infer = infer_full,
     .kernels = &kKernels<FullKernel>,
     .draw = draw_full,
     .weight = 0.5},
    {.schema = "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, "
               "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
               "bool? pin_memory=None) -> Tensor",
     .python = "torch.arange",
     .infer = infer_arange,
     .kernels = &kKernels<ArangeKernel>,
     .draw = draw_arange,
     .weight = 0.6},
};

}  // namespace

std::span<const OpRow> create_rows() { return kRows; }

}  // namespace ulpfuzz
