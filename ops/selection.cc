#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"

// Operators that choose an element: extrema of two tensors, clamp, where.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, -0.0, 1.0, -1.0, kInf, -kInf, NAN, 127.0, -128.0, 3e38, 1e-45};

constexpr auto kIntMax = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
constexpr auto kIntMin = [](std::int64_t a, std::int64_t b) { return std::min(a, b); };

// ---- extrema of two tensors -----------------------------------------------------------------

// fmax and fmin: a NaN gives way to a number.
constexpr auto kFmax = [](const auto& a, const auto& b) {
  return select(is_nan(a), b, select(is_nan(b), a, max_of(a, b)));
};
constexpr auto kFmin = [](const auto& a, const auto& b) {
  return select(is_nan(a), b, select(is_nan(b), a, min_of(a, b)));
};

// Halves the gradient where both are equal; `losing` compares self to other where self loses.
void extremum_backward(Backward& b, const std::string& self_loses, const std::string& other_loses) {
  const Expr g = gradient(b), x = input(b, "self"), y = input(b, "other");
  const Expr shared = where(compare("eq", x, y), g / 2.0, g);
  if (wanted(b, "self")) give(b, "self", masked_fill(shared, compare(self_loses, x, y), 0));
  if (wanted(b, "other")) give(b, "other", masked_fill(shared, compare(other_loses, x, y), 0));
}

// The first of two equals gets all of it; `wins` is ge for fmax, le for fmin.
void number_extremum_backward(Backward& b, const std::string& wins) {
  const Expr g = gradient(b), x = input(b, "self"), y = input(b, "other");
  const Expr mine = logical("or", compare(wins, x, y), unary("isnan", y));
  if (wanted(b, "self")) give(b, "self", masked_fill(g, unary("logical_not", mine), 0));
  if (wanted(b, "other")) give(b, "other", masked_fill(g, mine, 0));
}

// ---- clamp ----------------------------------------------------------------------------------

std::vector<TensorType> infer_clamp(const Call& call) {
  if (!call.given("min") && !call.given("max")) call.fail("one of min and max must be given");
  const TensorType result{promoted(call, {"self", "min", "max"}),
                          broadcast_shape(call, {"self", "min", "max"})};
  for (const char* arg : {"min", "max"}) {
    if (call.given(arg) && !call.is_tensor(arg)) {
      if (result.dtype == DType::kBool) call.fail("not implemented for bool");
      require_fits(call, call.scalar(arg), result.dtype);
    }
  }
  return {result};
}

// min(max(x, low), high): high wins where low > high.
struct ClampKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Call& call = k.call();
    const DType dtype = k.out().dtype();
    if (k.out().integral()) {
      const auto bound = [&](const char* arg, std::int64_t otherwise) {
        return call.given(arg) ? wrap_to(dtype, call.scalar(arg).as_integer()) : otherwise;
      };
      const std::int64_t low = bound("min", min_integer(dtype));
      const std::int64_t high = bound("max", max_integer(dtype));
      map_int(
          k.out(), [&](std::int64_t x) { return std::min(std::max(wrap_to(dtype, x), low), high); },
          k.in("self"));
      return;
    }
    const T low = call.given("min") ? k.number("min") : widen<T>(-kInf);
    const T high = call.given("max") ? k.number("max") : widen<T>(kInf);
    map_real(
        k.out(), [&](const T& x) { return min_of(max_of(x, low), high); }, k.in("self"));
  }
};

struct ClampTensorKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    // A bound that is absent is stood for by self, which changes nothing.
    const bool low = k.has("min"), high = k.has("max");
    const Tensor<T>& self = k.in("self");
    const Tensor<T>&min = low ? k.in("min") : self, &max = high ? k.in("max") : self;
    if (k.out().integral()) {
      map_int(
          k.out(),
          [&](std::int64_t x, std::int64_t a, std::int64_t b) {
            const std::int64_t raised = low ? std::max(x, a) : x;
            return high ? std::min(raised, b) : raised;
          },
          self, min, max);
      return;
    }
    map_real(
        k.out(),
        [&](const T& x, const T& a, const T& b) {
          const T raised = low ? max_of(x, a) : x;
          return high ? min_of(raised, b) : raised;
        },
        self, min, max);
  }
};

// Where self lies inside its bounds, the ends included.
std::optional<Expr> inside(Backward& b) {
  const Expr x = input(b, "self");
  std::optional<Expr> result;
  if (b.call().given("min")) result = compare("ge", x, operand(b, "min"));
  if (b.call().given("max")) {
    const Expr below = compare("le", x, operand(b, "max"));
    result = result ? logical("and", *result, below) : below;
  }
  return result;
}

void clamp_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) give(b, "self", where(*inside(b), g, zeros_like(g)));
  const bool both = b.call().is_tensor("min") && b.call().is_tensor("max");
  const auto bound = [&](const char* arg, const char* beyond, const char* also) {
    if (!wanted(b, arg)) return;
    Expr takes = compare(beyond, input(b, "self"), input(b, arg));
    if (both) {
      const Expr order = compare("lt", input(b, "min"), input(b, "max"));
      const Expr crossed = compare("lt", input(b, "max"), input(b, "min"));
      takes = std::string_view(also) == "and" ? logical("and", order, takes)
                                              : logical("or", takes, crossed);
    }
    give(b, arg, where(takes, g, zeros_like(g)));
  };
  bound("min", "lt", "and");
  bound("max", "gt", "or");
}

// ---- where ----------------------------------------------------------------------------------

std::vector<TensorType> infer_where(const Call& call) {
  require_dtype(call, "condition", DType::kBool);
  require_tensor(call, "self");
  const TensorType result{promoted(call, {"self", "other"}),
                          broadcast_shape(call, {"condition", "self", "other"})};
  if (!call.is_tensor("other")) require_fits(call, call.scalar("other"), result.dtype);
  return {result};
}

std::vector<TensorType> infer_where_tensors(const Call& call) {
  require_tensor(call, "other");
  return infer_where(call);
}

struct WhereKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const DType dtype = k.out().dtype();
    const IntOperand<T> condition = as_int(k.in("condition"));
    const Tensor<T>& self = k.in("self");
    Tensor<T> other;
    if (k.call().is_tensor("other")) {
      other = k.in("other");
    } else {
      other = Tensor<T>({dtype, {}});
      if (other.integral()) {
        other.integer(0) = make_int<T>(wrap_to(dtype, k.call().scalar("other").as_integer()));
      } else {
        other.real(0) = k.number("other");
      }
    }
    if (k.out().integral()) {
      map<T>(
          k.out(),
          [](const Int<T>& c, const Int<T>& a, const Int<T>& b) { return select(c, a, b); },
          condition, as_int(self), as_int(other));
    } else {
      map<T>(
          k.out(), [](const Int<T>& c, const T& a, const T& b) { return select(c, a, b); },
          condition, as_real(self), as_real(other));
    }
  }
};

void where_backward(Backward& b) {
  const Expr g = gradient(b), condition = input(b, "condition");
  const Expr zeros = zeros_like(g);
  if (wanted(b, "self")) give(b, "self", where(condition, g, zeros));
  if (b.call().is_tensor("other") && wanted(b, "other")) {
    give(b, "other", where(condition, zeros, g));
  }
}

// ---- draws ----------------------------------------------------------------------------------

void add_bounds(Draw& d, DType dtype, std::vector<NamedArgument>& args) {
  const bool first = d.random().chance(0.7), second = !first || d.random().chance(0.6);
  const bool real = is_floating(dtype) || d.random().chance(0.1);
  if (first) args.push_back({"min", real ? Scalar{-0.5} : Scalar{std::int64_t{1}}});
  if (second) {
    const bool crossed = d.random().chance(0.1);  // min > max is legal: max wins
    args.push_back(
        {"max", real ? Scalar{crossed ? -1.0 : 0.75} : Scalar{std::int64_t{crossed ? 0 : 3}}});
  }
}

bool draw_clamp(Draw& d) {
  const Ref self = d.operand(want_numeric());
  std::vector<NamedArgument> args{{"self", self}};
  add_bounds(d, d.type(self).dtype, args);
  return d.call(std::move(args));
}

bool draw_clamp_tensor(Draw& d) {
  const Ref self = d.operand(want_numeric());
  std::vector<NamedArgument> args{{"self", self}};
  const bool first = d.random().chance(0.7);
  if (first) args.push_back({"min", d.broadcastable(self)});
  if (!first || d.random().chance(0.6)) args.push_back({"max", d.broadcastable(self)});
  return d.call(std::move(args));
}

Ref draw_condition(Draw& d, const Ref& like) {
  return d.operand_of(DType::kBool, d.type(like).shape);
}

bool draw_where(Draw& d) {
  const Ref self =
      d.operand({.types = d.random().chance(0.05) ? Want::Types::kBool : Want::Types::kNumeric});
  return d.call(
      {{"condition", draw_condition(d, self)}, {"self", self}, {"other", d.broadcastable(self)}});
}

bool draw_where_number(Draw& d) {
  const Ref self = d.operand(want_numeric());
  return d.call({{"condition", draw_condition(d, self)},
                 {"self", self},
                 {"other", d.number(d.type(self).dtype)}});
}

constexpr OpRow kRows[] = {
    {.schema = "aten::maximum(Tensor self, Tensor other) -> Tensor",
     .python = "torch.maximum",
     .infer = infer_binary_tensors,
     .kernels = &kNumericBinary<[](const auto& a, const auto& b) { return max_of(a, b); }, kIntMax>,
     .derivative = [](Backward& b) { extremum_backward(b, "lt", "gt"); },
     .draw = draw_binary_any_tensors,
     .edges = kEdges},
    {.schema = "aten::minimum(Tensor self, Tensor other) -> Tensor",
     .python = "torch.minimum",
     .infer = infer_binary_tensors,
     .kernels = &kNumericBinary<[](const auto& a, const auto& b) { return min_of(a, b); }, kIntMin>,
     .derivative = [](Backward& b) { extremum_backward(b, "gt", "lt"); },
     .draw = draw_binary_any_tensors,
     .edges = kEdges},
    {.schema = "aten::fmax(Tensor self, Tensor other) -> Tensor",
     .python = "torch.fmax",
     .infer = infer_binary_tensors,
     .kernels = &kNumericBinary<kFmax, kIntMax>,
     .derivative = [](Backward& b) { number_extremum_backward(b, "ge"); },
     .draw = draw_binary_any_tensors,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::fmin(Tensor self, Tensor other) -> Tensor",
     .python = "torch.fmin",
     .infer = infer_binary_tensors,
     .kernels = &kNumericBinary<kFmin, kIntMin>,
     .derivative = [](Backward& b) { number_extremum_backward(b, "le"); },
     .draw = draw_binary_any_tensors,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     .python = "torch.clamp",
     .infer = infer_clamp,
     .kernels = &kKernels<ClampKernel>,
     .derivative = clamp_backward,
     .draw = draw_clamp,
     .edges = kEdges},
    {.schema = "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     .python = "torch.clamp",
     .infer = infer_clamp,
     .kernels = &kKernels<ClampTensorKernel>,
     .derivative = clamp_backward,
     .draw = draw_clamp_tensor,
     .weight = 0.8,
     .edges = kEdges},
    {.schema = "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
     .python = "torch.where",
     .infer = infer_where_tensors,
     .kernels = &kKernels<WhereKernel>,
     .derivative = where_backward,
     .draw = draw_where,
     .weight = 1.5,
     .edges = kEdges},
    {.schema = "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
     .python = "torch.where",
     .infer = infer_where,
     .kernels = &kKernels<WhereKernel>,
     .derivative = where_backward,
     .draw = draw_where_number,
     .weight = 0.5,
     .edges = kEdges},
};

}  // namespace

std::span<const OpRow> selection_rows() { return kRows; }

}  // namespace ulpfuzz
