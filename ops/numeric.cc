#include <cmath>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"

// Arithmetic, steps and predicates of one tensor, whose meaning integers share.
namespace ulpfuzz {

namespace {

constexpr double kSpecial[] = {0.0,  -0.0,  0.5, -0.5,      1.5,  2.5,  -1.0,  1e-45, 3e38,
                               kInf, -kInf, NAN, 8388607.5, 1e20, 127., -128., 32768.};

constexpr auto kSame = [](std::int64_t x) { return x; };
constexpr auto kNo = [](std::int64_t) { return std::int64_t{0}; };
constexpr auto kYes = [](std::int64_t) { return std::int64_t{1}; };
constexpr auto kSignOf = [](std::int64_t x) { return std::int64_t{(x > 0) - (x < 0)}; };

// ATen's sign, (0 < x) - (x < 0), makes 0 of NaN.
constexpr auto kSign = [](const auto& x) { return select(is_nan(x), exactly(x, 0), sign(x)); };

// round, floor, ... and sign have the gradient 0: a tensor of zeros, not None.
void flat(Backward& b) { give(b, "self", zeros_like(gradient(b))); }

// ATen promotes bool as pow(self, 2) does.
std::vector<TensorType> infer_square(const Call& call) {
  require_real(call, "self");
  const TensorType& self = call.tensor("self");
  return {{self.dtype == DType::kBool ? DType::kInt64 : self.dtype, self.shape}};
}

// The replacements of nan_to_num: NaN becomes 0 and the infinities the largest finite numbers of
// the nominal dtype, unless given.
struct NanToNumKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const Call& call = k.call();
    if (self.integral()) return k.out().assign(self);
    const DType dtype = k.out().dtype();
    const double largest = float_format(dtype).max_finite;
    const auto given_or = [&](const char* arg, double otherwise) {
      return widen<T>(call.given(arg) ? round_to(dtype, call.floating(arg)) : otherwise);
    };
    const T nan = given_or("nan", 0);
    const T high = given_or("posinf", largest);
    const T low = given_or("neginf", -largest);
    map_real(
        k.out(),
        [&](const T& x) {
          const T& end = narrow(x) > 0 ? high : low;
          return select(is_nan(x), nan, select(is_inf(x), end, x));
        },
        self);
  }
};

bool draw_nan_to_num(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand(want_floating())}};
  if (d.random().chance(0.4)) args.push_back({"nan", draw_fraction(d).as_double()});
  if (d.random().chance(0.4)) args.push_back({"posinf", 100.0});
  if (d.random().chance(0.4)) args.push_back({"neginf", -100.0});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::abs(Tensor self) -> Tensor",
     .python = "torch.abs",
     .infer = infer_same_no_bool,
     .kernels = &kNumericUnary<[](const auto& x) { return abs(x); },
                               [](std::int64_t x) { return x < 0 ? wrap_neg(x) : x; }>,
     .derivative =
         [](Backward& b) { give(b, "self", gradient(b) * unary("sgn", input(b, "self"))); },
     .draw = draw_numeric,
     .edges = kSpecial},
    {.schema = "aten::neg(Tensor self) -> Tensor",
     .python = "torch.neg",
     .infer = infer_same_no_bool,
     .kernels = &kNumericUnary<[](const auto& x) { return -x; }, wrap_neg>,
     .derivative = [](Backward& b) { give(b, "self", -gradient(b)); },
     .draw = draw_numeric,
     .edges = kSpecial},
    {.schema = "aten::sign(Tensor self) -> Tensor",
     .python = "torch.sign",
     .infer = infer_same,
     .kernels = &kNumericUnary<kSign, kSignOf>,
     .derivative = flat,
     .draw = draw_any,
     .weight = 0.7,
     .edges = kSpecial},
    {.schema = "aten::sgn(Tensor self) -> Tensor",
     .python = "torch.sgn",
     .infer = infer_same,
     .kernels = &kNumericUnary<kSign, kSignOf>,
     .derivative = flat,
     .draw = draw_any,
     .weight = 0.3,
     .edges = kSpecial},
    {.schema = "aten::reciprocal(Tensor self) -> Tensor",
     .python = "torch.reciprocal",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return exactly(x, 1) / x; }>,
     .derivative = [](Backward& b) { give(b, "self", -gradient(b) * (output(b) * output(b))); },
     .draw = draw_unary_float,
     .edges = kSpecial},
    {.schema = "aten::square(Tensor self) -> Tensor",
     .python = "torch.square",
     .infer = infer_square,
     .kernels = &kNumericUnary<[](const auto& x) { return x * x; },
                               [](std::int64_t x) { return wrap_mul(x, x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * (input(b, "self") * 2.0)); },
     .draw = draw_numeric,
     .weight = 0.7,
     .edges = kSpecial},
    {.schema = "aten::floor(Tensor self) -> Tensor",
     .python = "torch.floor",
     .infer = infer_same_no_bool,
     .kernels = &kNumericUnary<[](const auto& x) { return floor(x); }, kSame>,
     .derivative = flat,
     .draw = draw_numeric,
     .weight = 0.7,
     .edges = kSpecial},
    {.schema = "aten::ceil(Tensor self) -> Tensor",
     .python = "torch.ceil",
     .infer = infer_same_no_bool,
     .kernels = &kNumericUnary<[](const auto& x) { return ceil(x); }, kSame>,
     .derivative = flat,
     .draw = draw_numeric,
     .weight = 0.7,
     .edges = kSpecial},
    {.schema = "aten::trunc(Tensor self) -> Tensor",
     .python = "torch.trunc",
     .infer = infer_same_no_bool,
     .kernels = &kNumericUnary<[](const auto& x) { return trunc(x); }, kSame>,
     .derivative = flat,
     .draw = draw_numeric,
     .weight = 0.7,
     .edges = kSpecial},
    {.schema = "aten::round(Tensor self) -> Tensor",
     .python = "torch.round",
     .infer = infer_same_no_bool,
     .kernels = &kNumericUnary<[](const auto& x) { return round_even(x); }, kSame>,
     .derivative = flat,
     .draw = draw_numeric,
     .weight = 0.7,
     .edges = kSpecial},
    {.schema = "aten::frac(Tensor self) -> Tensor",
     .python = "torch.frac",
     .infer = infer_floating,
     .kernels = &kUnary<[](const auto& x) { return x - trunc(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b)); },
     .draw = draw_floating,
     .weight = 0.7,
     .edges = kSpecial},
    {.schema = "aten::isnan(Tensor self) -> Tensor",
     .python = "torch.isnan",
     .infer = infer_predicate,
     .kernels = &kPredicate<[](const auto& x) { return is_nan(x); }, kNo>,
     .draw = draw_unary_float,
     .weight = 0.4,
     .edges = kSpecial},
    {.schema = "aten::isinf(Tensor self) -> Tensor",
     .python = "torch.isinf",
     .infer = infer_predicate,
     .kernels = &kPredicate<[](const auto& x) { return is_inf(x); }, kNo>,
     .draw = draw_unary_float,
     .weight = 0.4,
     .edges = kSpecial},
    {.schema = "aten::isfinite(Tensor self) -> Tensor",
     .python = "torch.isfinite",
     .infer = infer_predicate,
     .kernels =
         &kPredicate<[](const auto& x) { return logical_not(logical_or(is_nan(x), is_inf(x))); },
                     kYes>,
     .draw = draw_unary_float,
     .weight = 0.4,
     .edges = kSpecial},
    {.schema = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, "
               "float? neginf=None) -> Tensor",
     .python = "torch.nan_to_num",
     .infer = infer_same,
     .kernels = &kKernels<NanToNumKernel>,
     .derivative =
         [](Backward& b) { give(b, "self", gradient(b) * unary("isfinite", input(b, "self"))); },
     .draw = draw_nan_to_num,
     .weight = 0.7,
     .edges = kSpecial},
};

}  // namespace

std::span<const OpRow> numeric_rows() { return kRows; }

}  // namespace ulpfuzz
