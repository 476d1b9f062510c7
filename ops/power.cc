#include <array>
#include <cmath>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"

// Powers, and functions of two tensors.
namespace ulpfuzz {

namespace {

// pow is exp(y log x) in vector libraries; the product's rounding is multiplied by its size.
constexpr Numerics kPower{.function_ulps = 16};
constexpr Numerics kFunction{.function_ulps = 4};
constexpr double kBases[] = {0.0, -0.0, 1.0, -1.0, 0.99999994, 2.0, 1e-45, 1e20, 3e38, kInf, -kInf};
constexpr double kPlane[] = {0.0, -0.0, 1.0, -1.0, 1e-30, 1e-20, 1e20, 3e38, kInf, -kInf, NAN};

// ---- integers -------------------------------------------------------------------------------

// at::native::powi: modulo the width for exponents from 0; the truncated value for negative ones.
std::int64_t int_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::int64_t result = 1;
  for (std::int64_t e = exponent; e > 0; e /= 2) {
    if (e % 2 == 1) result = wrap_mul(result, base);
    base = wrap_mul(base, base);
  }
  return result;
}

std::vector<TensorType> infer_pow(const Call& call) {
  if (call.op().name() == "aten.pow.Tensor_Tensor") {
    require_tensor(call, "self");
    require_tensor(call, "exponent");
  }
  const TensorType result{promoted(call, {"self", "exponent"}),
                          broadcast_shape(call, {"self", "exponent"})};
  if (result.dtype == DType::kBool) call.fail("pow of bools is not implemented");
  if (is_integral(result.dtype) && !call.is_tensor("exponent")) {
    const Scalar exponent = call.scalar("exponent");
    if (exponent.as_integer() < 0) call.fail("integers to negative integer powers are not allowed");
    require_fits(call, exponent, result.dtype);
  }
  return {result};
}

// A negative base has a power for whole exponents alone: one in doubt decides nothing.
template <class T>
T power_of(const T& x, const T& y) {
  T result = pow(x, y);
  if constexpr (kIsRunning<T>) {
    if (x.v < 0 && y.e > 0 && base::is_nan(result.v)) result.e = kInf;
  }
  return result;
}

// pow(Tensor, number). ATen and Inductor take square roots where the exponent is a half, which
// differ from pow at -inf and -0; where it is 1 or 2, the operand and its product with itself.
struct PowScalarKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Scalar exponent = k.call().scalar("exponent");
    if (k.out().integral()) {
      const DType dtype = k.out().dtype();
      map_int(
          k.out(),
          [&](std::int64_t x) { return int_power(wrap_to(dtype, x), exponent.as_integer()); },
          k.in("self"));
      return;
    }
    const double e = exponent.as_double();
    if (e == 0.5) {
      map_real(
          k.out(), [](const T& x) { return sqrt(x); }, k.in("self"));
    } else if (e == -0.5) {
      map_real(
          k.out(), [](const T& x) { return rsqrt(x); }, k.in("self"));
    } else if (e == 1) {
      map_real(
          k.out(), [](const T& x) { return x; }, k.in("self"));
    } else if (e == 2) {
      map_real(
          k.out(), [](const T& x) { return x * x; }, k.in("self"));
    } else {
      const T power = k.number("exponent");
      map_real(
          k.out(), [&](const T& x) { return power_of(x, power); }, k.in("self"));
    }
  }
};

struct PowKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().integral()) {
      const DType dtype = k.out().dtype();
      map_int(
          k.out(),
          [&](std::int64_t x, std::int64_t y) {
            return int_power(wrap_to(dtype, x), wrap_to(dtype, y));
          },
          k.in("self"), k.in("exponent"));
      return;
    }
    map_real(
        k.out(), [](const T& x, const T& y) { return power_of(x, y); }, k.in("self"),
        k.in("exponent"));
  }
};

struct PowOfNumberKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().integral()) {
      const std::int64_t base = wrap_to(k.out().dtype(), k.call().scalar("self").as_integer());
      map_int(
          k.out(), [&](std::int64_t y) { return int_power(base, y); }, k.in("exponent"));
      return;
    }
    const T base = k.number("self");
    map_real(
        k.out(), [&](const T& y) { return pow(base, y); }, k.in("exponent"));
  }
};

// sqrt(a^2 + b^2) without the overflow in between.
template <class T>
T hypot_of(const T& a, const T& b) {
  const T zero = widen<T>(0), one = widen<T>(1), endless = widen<T>(kInf);
  const T larger = max_of(abs(a), abs(b)), smaller = min_of(abs(a), abs(b));
  const T ratio = smaller / larger;
  const T length = larger * sqrt(one + ratio * ratio);
  const T at_zero = select(equal(larger, zero), zero, length);
  return select(logical_or(is_inf(a), is_inf(b)), endless, at_zero);
}

// The sign of zero is free in compiled code, so a zero `b` decides nothing.
template <class T>
T copy_sign(const T& a, const T& b) {
  const T size = abs(a);
  if constexpr (kIsRunning<T>) {
    const bool near = b.v == 0 || !(std::fabs(narrow(b)) > b.e);
    const int marks = marks_of(b) | (near ? kNearTie : 0);
    return select(make_int<T>(base::sign_bit(b.v), marks), -size, size);
  } else {
    return std::signbit(b) ? -size : size;
  }
}

struct Atan2Kernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map_real(
        k.out(),
        [](const T& y, const T& x) {
          T angle = atan2(y, x);
          if constexpr (kIsRunning<T>) {  // on the cut the free sign of zero decides, 2 pi apart
            if (y.v == 0 && !(x.v > 0)) angle.e = 7, angle.marks |= kNearTie;
          }
          return angle;
        },
        k.in("self"), k.in("other"));
  }
};

struct XlogyKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map_real(
        k.out(),
        [](const T& x, const T& y) {
          const T zero = widen<T>(0);
          const Int<T> flat = logical_and(equal(x, zero), logical_not(is_nan(y)));
          return select(flat, zero, x * log(y));
        },
        k.in("self"), k.in("other"));
  }
};

// ATen takes log(1 + z), not log1p: the rounding of 1 + z is legal.
template <class T>
T log_add_exp(const T& a, const T& b) {
  const T larger = max_of(a, b);
  const T sum = larger + log(exp(-abs(a - b)) + 1.0);
  return select(logical_and(is_inf(a), equal(a, b)), a, sum);
}

std::vector<TensorType> infer_floating_pair(const Call& call) {
  const std::vector<TensorType> result = infer_binary_tensors(call);
  if (!is_floating(result[0].dtype)) call.fail("implemented for floating operands only");
  return result;
}

// ---- derivatives ----------------------------------------------------------------------------

void pow_scalar_backward(Backward& b) {
  const double exponent = b.call().scalar("exponent").as_double();
  const Expr g = gradient(b);
  if (exponent == 0) return give(b, "self", zeros_like(g));
  give(b, "self", g * (pow(input(b, "self"), exponent - 1) * exponent));
}

Expr power(const Expr& x, const Expr& y) {
  return emit(*x.builder, "aten.pow.Tensor_Tensor", {{"self", x.ref}, {"exponent", y.ref}});
}

void pow_backward(Backward& b) {
  const Expr g = gradient(b), x = input(b, "self"), y = input(b, "exponent");
  const Expr zeros = zeros_like(g);
  if (wanted(b, "self")) {
    give(b, "self", where(compare("eq", y, 0.0), zeros, g * (y * power(x, y - 1.0))));
  }
  if (wanted(b, "exponent")) {
    const Expr flat = logical("and", compare("eq", x, 0.0), compare("ge", y, 0.0));
    give(b, "exponent", g * where(flat, zeros, output(b) * unary("log", x)));
  }
}

void pow_of_number_backward(Backward& b) {
  const double base = b.call().scalar("self").as_double();
  const Expr g = gradient(b), y = input(b, "exponent");
  if (base != 0) return give(b, "exponent", g * (output(b) * std::log(base)));
  const Expr zeros = zeros_like(g);
  give(b, "exponent", g * where(compare("ge", y, 0.0), zeros, output(b) * std::log(base)));
}

void atan2_backward(Backward& b) {
  const Expr g = gradient(b), y = input(b, "self"), x = input(b, "other");
  const Expr square = y * y + x * x;
  const Expr r = masked_fill(unary("reciprocal", square), compare("eq", square, 0.0), 0);
  if (wanted(b, "self")) give(b, "self", g * x * r);
  if (wanted(b, "other")) give(b, "other", g * -y * r);
}

void hypot_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) give(b, "self", g * input(b, "self") / output(b));
  if (wanted(b, "other")) give(b, "other", g * input(b, "other") / output(b));
}

void copysign_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) {
    const Expr x = input(b, "self");
    give(b, "self", g * masked_fill(output(b) / x, compare("eq", x, 0.0), 0));
  }
  if (wanted(b, "other")) give(b, "other", zeros_like(input(b, "other")));
}

void xlogy_backward(Backward& b) {
  const Expr g = gradient(b), x = input(b, "self"), y = input(b, "other");
  if (wanted(b, "self")) {
    const Expr flat = logical("and", compare("eq", x, 0.0), compare("le", y, 0.0));
    give(b, "self",
         masked_fill(emit(b, "aten.xlogy.Tensor", {{"self", g.ref}, {"other", y.ref}}), flat, 0));
  }
  if (wanted(b, "other")) give(b, "other", g * x / y);
}

void logaddexp_backward(Backward& b) {
  const Expr g = gradient(b), x = input(b, "self"), y = input(b, "other");
  if (wanted(b, "self")) give(b, "self", g / (unary("exp", y - x) + 1.0));
  if (wanted(b, "other")) give(b, "other", g / (unary("exp", x - y) + 1.0));
}

// ---- draws ----------------------------------------------------------------------------------

bool draw_pow_scalar(Draw& d) {
  static constexpr std::array kExponents{2.0, 3.0, -1.0, 0.5, -0.5, -2.0, 1.5, 0.0, 4.0, 2.5, 1.0};
  const Ref self = d.operand(want_numeric());
  if (is_integral(d.type(self).dtype)) {
    return d.call({{"self", self}, {"exponent", Scalar{d.random().integer(0, 5)}}});
  }
  const double exponent = d.random().pick(kExponents);
  const bool whole = exponent == std::trunc(exponent) && d.random().chance(0.7);
  const Scalar number = whole ? Scalar{static_cast<std::int64_t>(exponent)} : Scalar{exponent};
  return d.call({{"self", self}, {"exponent", number}});
}

Ref draw_exponent(Draw& d, DType dtype, const Shape& shape) {
  Fill fill;
  fill.kind = Fill::Kind::kChoice;
  fill.seed = d.random().bits();
  fill.values = {0, 1, 2, 3};
  if (is_floating(dtype)) fill.values.insert(fill.values.end(), {-1, -2, 0.5, 1.5});
  return d.new_input(dtype, shape, fill);
}

bool draw_pow(Draw& d) {
  const Ref self = d.operand(want_numeric());
  const TensorType type = d.type(self);
  const bool special = is_integral(type.dtype) || d.random().chance(0.5);
  return d.call({{"self", self},
                 {"exponent", special ? draw_exponent(d, type.dtype, type.shape)
                                      : d.broadcastable(self, false)}});
}

bool draw_pow_of_number(Draw& d) {
  static constexpr std::array kNumbers{2.0, 0.5, 10.0, 1.0, 0.0, 1.1};
  const Ref exponent = d.operand(want_floating());
  return d.call({{"self", Scalar{d.random().pick(kNumbers)}}, {"exponent", exponent}});
}

constexpr OpRow kRows[] = {
    {.schema = "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     .python = "torch.pow",
     .infer = infer_pow,
     .kernels = &kKernels<PowScalarKernel>,
     .derivative = pow_scalar_backward,
     .draw = draw_pow_scalar,
     // Eager rounds the square of half types before it takes the reciprocal.
     .numerics = {.function_ulps = 16, .narrow_accumulator = true},
     .edges = kBases},
    {.schema = "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     .python = "torch.pow",
     .infer = infer_pow,
     .kernels = &kKernels<PowKernel>,
     .derivative = pow_backward,
     .draw = draw_pow,
     .weight = 0.7,
     .numerics = kPower,
     .edges = kBases},
    {.schema = "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
     .python = "torch.pow",
     .infer = infer_pow,
     .kernels = &kKernels<PowOfNumberKernel>,
     .derivative = pow_of_number_backward,
     .draw = draw_pow_of_number,
     .weight = 0.4,
     .numerics = kPower,
     .edges = kBases},
    {.schema = "aten::atan2(Tensor self, Tensor other) -> Tensor",
     .python = "torch.atan2",
     .infer = infer_binary_float_tensors,
     .kernels = &kKernels<Atan2Kernel>,
     .derivative = atan2_backward,
     .draw = draw_binary_tensors,
     .weight = 0.7,
     .numerics = kFunction,
     .edges = kPlane},
    {.schema = "aten::hypot(Tensor self, Tensor other) -> Tensor",
     .python = "torch.hypot",
     .infer = infer_floating_pair,
     .kernels = &kBinary<[](const auto& a, const auto& b) { return hypot_of(a, b); }>,
     .derivative = hypot_backward,
     .draw = draw_binary_float_tensors,
     .weight = 0.6,
     .edges = kPlane},
    {.schema = "aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.copysign",
     .infer = infer_binary_float_tensors,
     .kernels = &kBinary<[](const auto& a, const auto& b) { return copy_sign(a, b); }>,
     .derivative = copysign_backward,
     .draw = draw_binary_tensors,
     .weight = 0.5,
     .edges = kPlane},
    {.schema = "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.xlogy",
     .infer = infer_binary_float_tensors,
     .kernels = &kKernels<XlogyKernel>,
     .derivative = xlogy_backward,
     .draw = draw_binary_tensors,
     .weight = 0.6,
     // Eager rounds the logarithm of half types before it multiplies.
     .numerics = {.function_ulps = 4, .narrow_accumulator = true},
     .edges = kPlane},
    {.schema = "aten::logaddexp(Tensor self, Tensor other) -> Tensor",
     .python = "torch.logaddexp",
     .infer = infer_floating_pair,
     .kernels = &kBinary<[](const auto& a, const auto& b) { return log_add_exp(a, b); }>,
     .derivative = logaddexp_backward,
     .draw = draw_binary_float_tensors,
     .weight = 0.6,
     .numerics = kFunction,
     .edges = kPlane},
};

}  // namespace

std::span<const OpRow> power_rows() { return kRows; }

}  // namespace ulpfuzz
