#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"
#include "ops/rounding.h"

// Sums, products and quotients of two or three tensors.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3e38, -3e38, kInf, -kInf, NAN};
constexpr double kWeights[] = {0.0, 0.5, 0.49999997, 1.0, -0.5, 1e8};

// ATen asks for these of alpha (and value) whatever it is multiplied with.
void require_multiplier(const Call& call, std::string_view arg, DType result) {
  if (!call.given(arg)) return;
  const Scalar number = call.scalar(arg);
  if (std::holds_alternative<bool>(number.value) && result != DType::kBool) {
    call.fail("a bool multiplier is for bool results only");
  }
  if (std::holds_alternative<double>(number.value) && is_integral(result)) {
    call.fail("the multiplier of integers must be an integer");
  }
}

std::vector<TensorType> infer_add(const Call& call) {
  const std::vector<TensorType> result = infer_binary(call);
  require_multiplier(call, "alpha", result[0].dtype);
  return result;
}

void refuse_bool(const Call& call, std::string_view arg) {
  const bool is_bool = call.is_tensor(arg) ? call.tensor(arg).dtype == DType::kBool
                                           : std::holds_alternative<bool>(call.scalar(arg).value);
  if (is_bool) call.fail("subtraction of bools is not supported; use logical_xor");
}

std::vector<TensorType> infer_sub(const Call& call) {
  refuse_bool(call, "self");
  refuse_bool(call, "other");
  return infer_add(call);
}

std::vector<TensorType> infer_rsub(const Call& call) {
  refuse_bool(call, "self");
  refuse_bool(call, "other");
  const DType dtype = promoted(call, {"self", "other"});
  require_multiplier(call, "alpha", dtype);
  return {{dtype, call.tensor("self").shape}};
}

std::vector<TensorType> infer_three(const Call& call) {
  const TensorType result{promoted(call, {"self", "tensor1", "tensor2"}),
                          broadcast_shape(call, {"self", "tensor1", "tensor2"})};
  if (result.dtype == DType::kBool) call.fail("not implemented for bool");
  require_multiplier(call, "value", result.dtype);
  return {result};
}

std::vector<TensorType> infer_addcdiv(const Call& call) {
  if (is_integral(call.tensor("tensor1").dtype) && is_integral(call.tensor("tensor2").dtype)) {
    call.fail("integer division with addcdiv is not supported");
  }
  return infer_three(call);
}

std::vector<TensorType> infer_lerp(const Call& call) {
  require_floating(call, "self");
  require_dtype(call, "end", call.tensor("self").dtype);
  if (!call.is_tensor("weight")) {
    return {{call.tensor("self").dtype, broadcast_shape(call, {"self", "end"})}};
  }
  require_dtype(call, "weight", call.tensor("self").dtype);
  return {{call.tensor("self").dtype, broadcast_shape(call, {"self", "end", "weight"})}};
}

// self + sign * alpha * other
template <int kSign>
struct AddKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().integral()) {
      const std::int64_t alpha = kSign * k.call().scalar("alpha").as_integer();
      map_integers(k,
                   [&](std::int64_t a, std::int64_t b) { return wrap_add(a, wrap_mul(alpha, b)); });
    } else if (k.has("alpha")) {
      const T alpha = widen<T>(kSign) * k.number("alpha");
      const DType dtype = k.out().dtype();  // scalar code holds the product in it
      map_real(
          k.out(), [&](const T& a, const T& b) { return a + maybe_half(alpha * b, dtype); },
          k.in("self"), k.in("other"));
    } else {
      map_real(
          k.out(), [](const T& a, const T& b) { return kSign > 0 ? a + b : a - b; }, k.in("self"),
          k.in("other"));
    }
  }
};

// other - alpha * self
struct RsubKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Scalar other = k.call().scalar("other"), alpha = k.call().scalar("alpha");
    if (k.out().integral()) {
      map_int(
          k.out(),
          [&](std::int64_t x) {
            return wrap_sub(other.as_integer(), wrap_mul(alpha.as_integer(), x));
          },
          k.in("self"));
    } else {
      const T number = k.number("other"), factor = k.number("alpha");
      map_real(
          k.out(), [&](const T& x) { return number - factor * x; }, k.in("self"));
    }
  }
};

struct AddcmulKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().integral()) {
      const std::int64_t value = k.call().scalar("value").as_integer();
      map_int(
          k.out(),
          [&](std::int64_t x, std::int64_t a, std::int64_t b) {
            return wrap_add(x, wrap_mul(value, wrap_mul(a, b)));
          },
          k.in("self"), k.in("tensor1"), k.in("tensor2"));
    } else {
      const T value = k.number("value");
      map_real(
          k.out(), [&](const T& x, const T& a, const T& b) { return x + value * a * b; },
          k.in("self"), k.in("tensor1"), k.in("tensor2"));
    }
  }
};

struct AddcdivKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T value = k.number("value");
    map_real(
        k.out(), [&](const T& x, const T& a, const T& b) { return x + value * a / b; },
        k.in("self"), k.in("tensor1"), k.in("tensor2"));
  }
};

// ATen takes the formula whose rounding is smaller on either side of weight 0.5.
template <class T>
T lerp(const T& a, const T& b, const T& weight) {
  const Int<T> small = less(abs(weight), exactly(weight, 0.5));
  return joined(small, a + weight * (b - a), b - (b - a) * (exactly(weight, 1) - weight));
}

struct LerpKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.call().is_tensor("weight")) {
      map_real(
          k.out(), [](const T& a, const T& b, const T& w) { return lerp(a, b, w); }, k.in("self"),
          k.in("end"), k.in("weight"));
    } else {
      const T weight = k.number("weight");
      map_real(
          k.out(), [&](const T& a, const T& b) { return lerp(a, b, weight); }, k.in("self"),
          k.in("end"));
    }
  }
};

double number(Backward& b, std::string_view arg) { return b.call().scalar(arg).as_double(); }

Expr scaled(const Expr& g, double factor) { return factor == 1 ? g : g * factor; }

void add_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) give(b, "self", g);
  if (wanted(b, "other")) give(b, "other", scaled(g, number(b, "alpha")));
}

void sub_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) give(b, "self", g);
  if (wanted(b, "other")) give(b, "other", scaled(-g, number(b, "alpha")));
}

void mul_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) give(b, "self", times(g, operand(b, "other")));
  if (wanted(b, "other")) give(b, "other", times(g, operand(b, "self")));
}

void div_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) give(b, "self", over(g, operand(b, "other")));
  if (wanted(b, "other")) give(b, "other", -g * over(quotient(b), operand(b, "other")));
}

void addcmul_backward(Backward& b) {
  const Expr g = gradient(b), t1 = input(b, "tensor1"), t2 = input(b, "tensor2");
  const double value = number(b, "value");
  if (wanted(b, "self")) give(b, "self", g);
  if (wanted(b, "tensor1")) give(b, "tensor1", g * (t2 * value));
  if (wanted(b, "tensor2")) give(b, "tensor2", g * (t1 * value));
}

void addcdiv_backward(Backward& b) {
  const Expr g = gradient(b), t1 = input(b, "tensor1"), t2 = input(b, "tensor2");
  const double value = number(b, "value");
  if (wanted(b, "self")) give(b, "self", g);
  if (wanted(b, "tensor1")) give(b, "tensor1", g * (unary("reciprocal", t2) * value));
  if (wanted(b, "tensor2")) give(b, "tensor2", -g * (t1 * value / (t2 * t2)));
}

void lerp_backward(Backward& b) {
  const Expr g = gradient(b);
  if (!b.call().is_tensor("weight")) {
    const double weight = number(b, "weight");
    if (wanted(b, "self")) give(b, "self", g * (1 - weight));
    if (wanted(b, "end")) give(b, "end", g * weight);
    return;
  }
  const Expr weight = input(b, "weight");
  if (wanted(b, "self")) give(b, "self", g * (1.0 - weight));
  if (wanted(b, "end")) give(b, "end", g * weight);
  if (wanted(b, "weight")) give(b, "weight", g * (input(b, "end") - input(b, "self")));
}

bool draw_add(Draw& d) {
  Ref self =
      d.operand({.types = d.random().chance(0.05) ? Want::Types::kBool : Want::Types::kNumeric});
  std::vector<NamedArgument> args{{"self", self}};
  if (d.random().chance(0.15)) {
    args.push_back({"other", d.number(d.type(self).dtype)});
  } else {
    args.push_back({"other", d.broadcastable(self)});
  }
  if (d.random().chance(0.15)) {
    const bool fractional = is_floating(d.type(self).dtype) && d.random().chance(0.5);
    args.push_back({"alpha", fractional ? draw_fraction(d) : Scalar{std::int64_t{2}}});
  }
  return d.call(std::move(args));
}

bool draw_three(Draw& d) {
  const Ref self = d.operand(want_numeric());
  // ATen has no gradient of addcdiv by an integer divisor, though it computes it.
  const bool mixed = d.op().name() == "aten.addcmul.default";
  std::vector<NamedArgument> args{{"self", self},
                                  {"tensor1", d.broadcastable(self, mixed)},
                                  {"tensor2", d.broadcastable(self, mixed)}};
  if (d.random().chance(0.5) && is_floating(d.type(self).dtype)) {
    args.push_back({"value", draw_fraction(d)});
  }
  return d.call(std::move(args));
}

bool draw_lerp(Draw& d) {
  const Ref self = d.operand(want_floating());
  return d.call({{"self", self},
                 {"end", d.broadcastable(self, false)},
                 {"weight", d.broadcastable(self, false)}});
}

bool draw_lerp_scalar(Draw& d) {
  const Ref self = d.operand(want_floating());
  return d.call(
      {{"self", self}, {"end", d.broadcastable(self, false)}, {"weight", draw_fraction(d)}});
}

constexpr OpRow kRows[] = {
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .python = "torch.add",
     .infer = infer_add,
     .kernels = &kKernels<AddKernel<1>>,
     .derivative = add_backward,
     .draw = draw_add,
     .weight = 2,
     .edges = kEdges},
    {.schema = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .python = "torch.sub",
     .infer = infer_sub,
     .kernels = &kKernels<AddKernel<-1>>,
     .derivative = sub_backward,
     .draw = draw_add,
     .weight = 1.5,
     .edges = kEdges},
    {.schema = "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     .python = "torch.rsub",
     .infer = infer_rsub,
     .kernels = &kKernels<RsubKernel>,
     .derivative = [](Backward& b) { give(b, "self", scaled(-gradient(b), number(b, "alpha"))); },
     .draw = draw_tensor_scalar,
     .weight = 0.4,
     .edges = kEdges},
    {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.mul",
     .infer = infer_binary,
     .kernels = &kNumericBinary<[](const auto& a, const auto& b) { return a * b; }, wrap_mul>,
     .derivative = mul_backward,
     .draw = draw_binary_any,
     .weight = 2,
     .edges = kEdges},
    {.schema = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.div",
     .infer = infer_binary_float,
     .kernels = &kBinary<[](const auto& a, const auto& b) { return a / b; }>,
     .derivative = div_backward,
     .draw = draw_binary_any,
     .weight = 1.5,
     .edges = kEdges},
    {.schema = "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) "
               "-> Tensor",
     .python = "torch.addcmul",
     .infer = infer_three,
     .kernels = &kKernels<AddcmulKernel>,
     .derivative = addcmul_backward,
     .draw = draw_three,
     .weight = 0.7,
     .edges = kEdges},
    {.schema = "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) "
               "-> Tensor",
     .python = "torch.addcdiv",
     .infer = infer_addcdiv,
     .kernels = &kKernels<AddcdivKernel>,
     .derivative = addcdiv_backward,
     .draw = draw_three,
     .weight = 0.8,
     .edges = kEdges},
    {.schema = "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
     .python = "torch.lerp",
     .infer = infer_lerp,
     .kernels = &kKernels<LerpKernel>,
     .derivative = lerp_backward,
     .draw = draw_lerp,
     .weight = 0.6,
     .edges = kWeights},
    {.schema = "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
     .python = "torch.lerp",
     .infer = infer_lerp,
     .kernels = &kKernels<LerpKernel>,
     .derivative = lerp_backward,
     .draw = draw_lerp_scalar,
     .weight = 0.5,
     .edges = kWeights},
};

}  // namespace

std::span<const OpRow> arithmetic_rows() { return kRows; }

}  // namespace ulpfuzz
