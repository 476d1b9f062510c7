#include <cmath>
#include <numbers>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"

// Elementary and special functions of one tensor. Integers give float32. Derivatives are those of
// ATen's derivatives.yaml.
namespace ulpfuzz {

namespace {

// ATen calls Sleef's 1-ulp functions, compilers their own polynomials and compositions (tanh
// through exp); 4 ulps of the result leave room for both, and still catch a small argument whose
// relative accuracy is lost.
constexpr Numerics kFunction{.function_ulps = 4};
// Sleef's sinh, cosh, tan reduce or cancel more; expm1-like compositions too.
constexpr Numerics kHardFunction{.function_ulps = 8};
// Gamma functions lose accuracy near their zeros and poles in every library.
constexpr Numerics kGamma{.function_ulps = 16};

constexpr double kTiny[] = {1e-8, -1e-8, 1e-6, 1e-4, -1e-4, 1e-20, 0.0};
constexpr double kHuge[] = {1e20, -1e20, 3e22, 3e38, -3e38, 1e-8, -1e-6, 0.0};
constexpr double kExponents[] = {88.0, 89.0, -87.5, -104.0, 1e-8, -1e-6, 128.0, -126.0, 0.0};
// Sleef's sinh and cosh overflow from 88.7 on, where the results still fit.
constexpr double kHyperbolic[] = {88.0, -88.5, 1e-8, -1e-6, 1e-4, 20.0, 0.0};
constexpr double kPositive[] = {0.0, 1.0, 0.99999994, 1.0000001, 1e-38, 1e-45, 1e20, 3e22, 3e38};
constexpr double kAngles[] = {1.5707964, 3.1415927, 1e4, -1e5, 1e8, 1e-8, 0.0};
constexpr double kUnitRange[] = {1.0, -1.0, 0.99999994, -0.99999994, 1e-8, -1e-6, 1e-4, 1.0000001};
constexpr double kAboveOne[] = {1.0, 1.0000001, 1.5, 1e20, 3e22, 3e38, 0.99999994};
constexpr double kGammaArguments[] = {0.0,  1.0,        2.0,   1.4616321, -0.5,
                                      -1.0, -2.0000002, 1e-20, 40.0};

constexpr double kTwoOverSqrtPi = 2.0 * std::numbers::inv_sqrtpi;

// To the left of 1/2 libraries go through a reflection with sin(pi x) or tan(pi x): rounding pi x
// is as good as an error in x, which counts near the poles.
constexpr auto kReflected = [](auto x) {
  if constexpr (kIsRunning<decltype(x)>) {
    if (x.v < 0.5) x.e += 4 * ErrorModel::current().unit * std::fabs(narrow(x));
  }
  return x;
};

// The series that ATen cuts off is good to 1e-9 in every precision.
constexpr auto kTrigamma = [](const auto& x) {
  auto y = trigamma(kReflected(x));
  if constexpr (kIsRunning<decltype(y)>) y.e += 2e-9 * std::fabs(narrow(y));
  return y;
};

Expr self(Backward& b) { return input(b, "self"); }

// 1 - x^2 and its like, as derivatives.yaml writes them.
Expr one_minus_square(const Expr& x) { return (-x) * x + 1.0; }

std::vector<TensorType> infer_polygamma(const Call& call) {
  if (call.integer("n") != 1) call.fail("only n = 1 (trigamma) is known here");
  return infer_unary_float(call);
}

constexpr OpRow kRows[] = {
    {.schema = "aten::exp(Tensor self) -> Tensor",
     .python = "torch.exp",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return exp(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * output(b)); },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kExponents},
    {.schema = "aten::exp2(Tensor self) -> Tensor",
     .python = "torch.exp2",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return exp2(x); }>,
     .derivative =
         [](Backward& b) { give(b, "self", gradient(b) * output(b) * std::numbers::ln2); },
     .draw = draw_unary_float,
     .weight = 0.5,
     .numerics = kFunction,
     .edges = kExponents},
    {.schema = "aten::expm1(Tensor self) -> Tensor",
     .python = "torch.expm1",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return expm1(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * (output(b) + 1.0)); },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kExponents},
    {.schema = "aten::log(Tensor self) -> Tensor",
     .python = "torch.log",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return log(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) / self(b)); },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kPositive},
    {.schema = "aten::log2(Tensor self) -> Tensor",
     .python = "torch.log2",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return log2(x); }>,
     .derivative =
         [](Backward& b) { give(b, "self", gradient(b) / (self(b) * std::numbers::ln2)); },
     .draw = draw_unary_float,
     .weight = 0.5,
     .numerics = kFunction,
     .edges = kPositive},
    {.schema = "aten::log10(Tensor self) -> Tensor",
     .python = "torch.log10",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return log10(x); }>,
     .derivative =
         [](Backward& b) {  // derivatives.yaml's constant, the double below log 10
           give(b, "self", gradient(b) / (self(b) * 2.3025850929940456));
         },
     .draw = draw_unary_float,
     .weight = 0.5,
     .numerics = kFunction,
     .edges = kPositive},
    {.schema = "aten::log1p(Tensor self) -> Tensor",
     .python = "torch.log1p",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return log1p(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) / (self(b) + 1.0)); },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kTiny},
    {.schema = "aten::sqrt(Tensor self) -> Tensor",
     .python = "torch.sqrt",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return sqrt(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) / (output(b) * 2.0)); },
     .draw = draw_unary_float,
     .numerics = {.function_ulps = 1},
     .edges = kPositive},
    {.schema = "aten::rsqrt(Tensor self) -> Tensor",
     .python = "torch.rsqrt",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return rsqrt(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * -0.5 * pow(output(b), 3.0)); },
     .draw = draw_unary_float,
     // Eager rounds the square root of half types before it divides.
     .numerics = {.function_ulps = 2, .narrow_accumulator = true},
     .edges = kPositive},
    {.schema = "aten::sin(Tensor self) -> Tensor",
     .python = "torch.sin",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return sin(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * unary("cos", self(b))); },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kAngles},
    {.schema = "aten::cos(Tensor self) -> Tensor",
     .python = "torch.cos",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return cos(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * -unary("sin", self(b))); },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kAngles},
    {.schema = "aten::tan(Tensor self) -> Tensor",
     .python = "torch.tan",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return tan(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * (pow(output(b), 2.0) + 1.0)); },
     .draw = draw_unary_float,
     .numerics = kHardFunction,
     .edges = kAngles},
    {.schema = "aten::asin(Tensor self) -> Tensor",
     .python = "torch.asin",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return asin(x); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self", gradient(b) * unary("rsqrt", one_minus_square(self(b))));
         },
     .draw = draw_unary_float,
     .weight = 0.6,
     .numerics = kFunction,
     .edges = kUnitRange},
    {.schema = "aten::acos(Tensor self) -> Tensor",
     .python = "torch.acos",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return acos(x); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self", gradient(b) * -unary("rsqrt", one_minus_square(self(b))));
         },
     .draw = draw_unary_float,
     .weight = 0.6,
     .numerics = kFunction,
     .edges = kUnitRange},
    {.schema = "aten::atan(Tensor self) -> Tensor",
     .python = "torch.atan",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return atan(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) / (self(b) * self(b) + 1.0)); },
     .draw = draw_unary_float,
     .weight = 0.6,
     .numerics = kFunction,
     .edges = kHuge},
    {.schema = "aten::sinh(Tensor self) -> Tensor",
     .python = "torch.sinh",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return sinh(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * unary("cosh", self(b))); },
     .draw = draw_unary_float,
     .numerics = kHardFunction,
     .edges = kHyperbolic},
    {.schema = "aten::cosh(Tensor self) -> Tensor",
     .python = "torch.cosh",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return cosh(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * unary("sinh", self(b))); },
     .draw = draw_unary_float,
     .weight = 0.6,
     .numerics = kHardFunction,
     .edges = kHyperbolic},
    {.schema = "aten::tanh(Tensor self) -> Tensor",
     .python = "torch.tanh",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return tanh(x); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self",
                emit(b, "aten.tanh_backward.default",
                     {{"grad_output", gradient(b).ref}, {"output", output(b).ref}}));
         },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kTiny},
    {.schema = "aten::asinh(Tensor self) -> Tensor",
     .python = "torch.asinh",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return asinh(x); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self", gradient(b) * unary("rsqrt", pow(self(b), 2.0) + 1.0));
         },
     .draw = draw_unary_float,
     .numerics = kHardFunction,
     .edges = kHuge},
    {.schema = "aten::acosh(Tensor self) -> Tensor",
     .python = "torch.acosh",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return acosh(x); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self", gradient(b) * unary("rsqrt", self(b) * self(b) - 1.0));
         },
     .draw = draw_unary_float,
     .weight = 0.7,
     .numerics = kHardFunction,
     .edges = kAboveOne},
    {.schema = "aten::atanh(Tensor self) -> Tensor",
     .python = "torch.atanh",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return atanh(x); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) / (1.0 - pow(self(b), 2.0))); },
     .draw = draw_unary_float,
     .numerics = kHardFunction,
     .edges = kUnitRange},
    {.schema = "aten::erf(Tensor self) -> Tensor",
     .python = "torch.erf",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return erf(x); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self", unary("exp", -pow(self(b), 2.0)) * kTwoOverSqrtPi * gradient(b));
         },
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kTiny},
    {.schema = "aten::erfc(Tensor self) -> Tensor",
     .python = "torch.erfc",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return erfc(x); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self", unary("exp", -pow(self(b), 2.0)) * -kTwoOverSqrtPi * gradient(b));
         },
     .draw = draw_unary_float,
     .weight = 0.6,
     .numerics = kHardFunction,
     .edges = kTiny},
    {.schema = "aten::lgamma(Tensor self) -> Tensor",
     .python = "torch.lgamma",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return lgamma(kReflected(x)); }>,
     .derivative = [](Backward& b) { give(b, "self", gradient(b) * unary("digamma", self(b))); },
     .draw = draw_unary_float,
     .weight = 0.5,
     .numerics = kGamma,
     .edges = kGammaArguments},
    {.schema = "aten::digamma(Tensor self) -> Tensor",
     .python = "torch.digamma",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return digamma(kReflected(x)); }>,
     .derivative =
         [](Backward& b) {
           give(b, "self",
                gradient(b) *
                    emit(b, "aten.polygamma.default", {{"n", Dim(1)}, {"self", self(b).ref}}));
         },
     .draw = draw_unary_float,
     .weight = 0.5,
     .numerics = kGamma,
     .edges = kGammaArguments},
    {.schema = "aten::polygamma(int n, Tensor self) -> Tensor",  // of digamma's derivative
     .python = "torch.polygamma",
     .infer = infer_polygamma,
     .kernels = &kUnary<kTrigamma>,
     .weight = 0,
     .numerics = kGamma,
     .edges = kGammaArguments},
};

}  // namespace

std::span<const OpRow> unary_rows() { return kRows; }

}  // namespace ulpfuzz
