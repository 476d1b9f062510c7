#include <string>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"

// Division with rounding, and remainders.
namespace ulpfuzz {

namespace {

// Where a quotient lies next to an integer, and divisors that are huge, infinite or zero.
constexpr double kEdges[] = {1.0,  0.1, 0.5, 0.2, 6.0,  3.0, -0.1,  -1.0,
                             1e20, 0.0, 0.3, 7.0, kInf, NAN, 1e-38, -128.0};

constexpr Numerics kRoundsNumbers{.rounds_numbers = true};

// Eager also divides half types in themselves.
constexpr Numerics kRoundsSteps{.narrow_accumulator = true, .rounds_numbers = true};

enum class Rounding { kNone, kFloor, kTrunc };

Rounding rounding_of(const Call& call) {
  if (call.op().name() != "aten.div.Tensor_mode") return Rounding::kFloor;
  if (!call.given("rounding_mode")) return Rounding::kNone;
  const std::string& mode = call.string("rounding_mode");
  if (mode == "floor") return Rounding::kFloor;
  if (mode == "trunc") return Rounding::kTrunc;
  call.fail("rounding_mode must be None, 'floor' or 'trunc'");
}

// Integer division by the number zero raises, whatever the tensor holds.
void refuse_zero_divisor(const Call& call, DType result) {
  if (!is_integral(result) || call.is_tensor("other")) return;
  if (call.scalar("other").as_double() == 0) call.fail("integer division by zero");
}

std::vector<TensorType> infer_division(const Call& call) {
  if (rounding_of(call) == Rounding::kNone) return infer_binary_float(call);
  const std::vector<TensorType> result = infer_binary_no_bool(call);
  refuse_zero_divisor(call, result[0].dtype);
  return result;
}

std::vector<TensorType> infer_remainder(const Call& call) {
  const bool takes_number = call.op().name().ends_with(".Scalar");
  if (!takes_number) require_tensor(call, "other");
  require_tensor(call, "self");
  const std::vector<TensorType> result = infer_binary_no_bool(call);
  refuse_zero_divisor(call, result[0].dtype);
  return result;
}

// ---- integers -------------------------------------------------------------------------------

struct Outcome {
  std::int64_t value = 0;
  bool undefined = false;
};

constexpr Outcome kRaises{0, true};  // ATen raises ZeroDivisionError for the whole call

bool signs_differ(std::int64_t a, std::int64_t b) { return (a < 0) != (b < 0); }

Outcome int_floor_quotient(DType, std::int64_t a, std::int64_t b) {
  if (b == 0) return kRaises;
  if (b == -1) return {wrap_neg(a)};
  return {a / b - (a % b != 0 && signs_differ(a, b) ? 1 : 0)};
}

Outcome int_trunc_quotient(DType dtype, std::int64_t a, std::int64_t b) {
  if (b == 0) return kRaises;
  // The processor traps on the quotient that does not fit; narrower types are computed in int32.
  if (b == -1) return {wrap_neg(a), a == min_integer(dtype) && item_size(dtype) >= 4};
  return {a / b};
}

Outcome int_floor_remainder(DType, std::int64_t a, std::int64_t b) {
  if (b == 0) return kRaises;
  const std::int64_t r = b == -1 ? 0 : a % b;
  return {r != 0 && signs_differ(r, b) ? r + b : r};
}

Outcome int_trunc_remainder(DType, std::int64_t a, std::int64_t b) {
  if (b == 0) return kRaises;
  return {b == -1 ? 0 : a % b};
}

// The divisor: a tensor, or the number of a .Scalar overload as a zero-dimensional one.
template <class T>
Tensor<T> divisor(const Kernel<T>& k) {
  if (k.call().op().schema.find("other")->kind != SchemaArgument::Kind::kScalar) {
    return k.in("other");
  }
  const Scalar number = k.call().scalar("other");
  const bool is_real = std::holds_alternative<double>(number.value);
  Tensor<T> tensor({is_real ? DType::kFloat64 : DType::kInt64, {}});
  if (is_real) {
    tensor.real(0) = k.number("other");
  } else {
    tensor.integer(0) = make_int<T>(number.as_integer());
  }
  return tensor;
}

template <class T>
void map_outcome(Kernel<T>& k, Outcome (*f)(DType, std::int64_t, std::int64_t)) {
  const DType dtype = k.out().dtype();
  map<T>(
      k.out(),
      [&](const Int<T>& a, const Int<T>& b) {
        const Outcome outcome = f(dtype, wrap_to(dtype, value_of(a)), wrap_to(dtype, value_of(b)));
        const int mark = outcome.undefined ? kUndefined : 0;
        return make_int<T>(outcome.value, marks_of(a) | marks_of(b) | mark);
      },
      as_int(k.in("self")), as_int(divisor(k)));
}

// ---- numbers --------------------------------------------------------------------------------

// Is C's remainder m, not zero, on the other side of zero than the divisor b?
template <class T>
Int<T> needs_step(const T& m, const T& b) {
  const T zero = widen<T>(0);
  const Int<T> m_negative = less(m, zero), b_negative = less(b, zero);
  const Int<T> differ = logical_or(logical_and(m_negative, logical_not(b_negative)),
                                   logical_and(logical_not(m_negative), b_negative));
  return logical_and(logical_not(equal(m, zero)), differ);
}

template <class T>
T floor_remainder(const T& a, const T& b) {
  const T m = fmod(a, b);
  return select(needs_step(m, b), m + b, m);
}

// q is (a - fmod(a, b)) / b, a whole number but for rounding. A system rounds twice on its way to
// it, which is lost again in rounding to a whole number as long as q is well below 1/unit.
template <class B>
Running<B> whole(const Running<B>& q, const Running<B>& a, const Running<B>& b,
                 const Running<B>& m) {
  if (base::is_nan(q.v) || base::is_inf(q.v)) return q;
  Running<B> r{base::round_even(q.v), 0, m.marks};
  const double size = std::fabs(base::narrow(r.v));
  const double rounding = 2 * ErrorModel::current().unit * size;
  if (rounding >= 0.25) r.e = rounding + 1;
  if (a.e > 0 || b.e > 0) {
    if (m.marks & kNearTie) {
      const double nearest = std::fabs(base::narrow(b.v)) - b.e;
      r.e += 1 + (nearest > 0 ? (a.e + size * b.e) / nearest : kInf);
    } else if (!(a.e < kInf) || !(b.e < kInf)) {
      r.e = kInf;
    }
  }
  return r;
}
inline double whole(double q, double, double, double) { return std::nearbyint(q); }

// c10::div_floor_floating, the floor of the exact quotient.
template <class T>
T floor_quotient(const T& a, const T& b) {
  const T m = fmod(a, b);
  const T q = whole((a - m) / b, a, b, m);
  const T floored = select(needs_step(m, b), q - widen<T>(1), q);
  return select(equal(b, widen<T>(0)), a / b, floored);
}

struct DivisionKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Rounding rounding = rounding_of(k.call());
    if (k.out().integral()) {
      map_outcome(k, rounding == Rounding::kFloor ? int_floor_quotient : int_trunc_quotient);
      return;
    }
    const Tensor<T>&self = k.in("self"), &other = k.in("other");
    switch (rounding) {
      case Rounding::kNone:
        return map_real(
            k.out(), [](const T& a, const T& b) { return a / b; }, self, other);
      case Rounding::kFloor:
        return map_real(
            k.out(), [](const T& a, const T& b) { return floor_quotient(a, b); }, self, other);
      case Rounding::kTrunc:  // of the rounded quotient, as ATen has it
        return map_real(
            k.out(), [](const T& a, const T& b) { return trunc(a / b); }, self, other);
    }
  }
};

struct RemainderKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().integral()) return map_outcome(k, int_floor_remainder);
    map_real(
        k.out(), [](const T& a, const T& b) { return floor_remainder(a, b); }, k.in("self"),
        divisor(k));
  }
};

struct FmodKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().integral()) return map_outcome(k, int_trunc_remainder);
    map_real(
        k.out(), [](const T& a, const T& b) { return fmod(a, b); }, k.in("self"), divisor(k));
  }
};

// ---- derivatives and draws ------------------------------------------------------------------

void division_backward(Backward& b) {
  const Expr g = gradient(b);
  const bool exact = rounding_of(b.call()) == Rounding::kNone;
  if (wanted(b, "self")) {
    give(b, "self", exact ? over(g, operand(b, "other")) : zeros_like(g));
  }
  if (wanted(b, "other")) {
    give(b, "other", exact ? -g * over(quotient(b), operand(b, "other")) : zeros_like(g));
  }
}

void remainder_backward(Backward& b) {
  if (wanted(b, "self")) give(b, "self", gradient(b));
  if (b.call().op().schema.find("other")->kind == SchemaArgument::Kind::kScalar) return;
  const bool floors = b.call().op().name() == "aten.remainder.Tensor";
  if (wanted(b, "other")) {
    give(b, "other", -gradient(b) * quotient(b, floors ? "floor" : "trunc"));
  }
}

// Divisors of integers are never zero; -1 meets the smallest integer where the system does not
// trap.
bool draw_divided(Draw& d, std::vector<NamedArgument> args, double number_share, bool minus_one) {
  const Ref self = d.operand(want_numeric());
  const TensorType type = d.type(self);
  args.insert(args.begin(), {"self", self});
  if (d.random().chance(number_share)) {
    args.insert(args.begin() + 1, {"other", draw_nonzero(d, type.dtype)});
  } else if (is_integral(type.dtype)) {
    args.insert(args.begin() + 1,
                {"other", draw_nonzero_input(d, type.dtype, type.shape, minus_one)});
  } else {
    args.insert(args.begin() + 1, {"other", d.broadcastable(self, false)});
  }
  return d.call(std::move(args));
}

bool draw_division(Draw& d) {
  const bool trunc = d.random().chance(0.5);
  return draw_divided(d, {{"rounding_mode", std::string(trunc ? "trunc" : "floor")}}, 0.2, !trunc);
}

// ATen has no derivative of floor_divide and raises in a backward pass: mostly integers.
bool draw_floor_divide(Draw& d) {
  if (d.random().chance(0.15)) return draw_divided(d, {}, 0.2, true);
  const Ref self = d.operand({.types = Want::Types::kInteger});
  const TensorType type = d.type(self);
  if (d.random().chance(0.2)) {
    return d.call({{"self", self}, {"other", draw_nonzero(d, type.dtype)}});
  }
  return d.call({{"self", self}, {"other", draw_nonzero_input(d, type.dtype, type.shape)}});
}

bool draw_remainder(Draw& d) { return draw_divided(d, {}, 0, true); }
bool draw_remainder_scalar(Draw& d) { return draw_divided(d, {}, 1, true); }

constexpr OpRow kRows[] = {
    {.schema = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     .python = "torch.div",
     .infer = infer_division,
     .kernels = &kKernels<DivisionKernel>,
     .derivative = division_backward,
     .draw = draw_division,
     .numerics = kRoundsSteps,
     .edges = kEdges},
    {.schema = "aten::floor_divide(Tensor self, Tensor other) -> Tensor",
     .python = "torch.floor_divide",
     .infer = infer_division,
     .kernels = &kKernels<DivisionKernel>,
     .draw = draw_floor_divide,
     .weight = 0.7,
     .numerics = kRoundsSteps,
     .edges = kEdges},
    {.schema = "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.remainder",
     .infer = infer_remainder,
     .kernels = &kKernels<RemainderKernel>,
     .derivative = remainder_backward,
     .draw = draw_remainder,
     .weight = 0.8,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.remainder",
     .infer = infer_remainder,
     .kernels = &kKernels<RemainderKernel>,
     .derivative = remainder_backward,
     .draw = draw_remainder_scalar,
     .weight = 0.5,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.fmod",
     .infer = infer_remainder,
     .kernels = &kKernels<FmodKernel>,
     .derivative = remainder_backward,
     .draw = draw_remainder,
     .weight = 0.8,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.fmod",
     .infer = infer_remainder,
     .kernels = &kKernels<FmodKernel>,
     .derivative = remainder_backward,
     .draw = draw_remainder_scalar,
     .weight = 0.4,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
};

}  // namespace

std::span<const OpRow> division_rows() { return kRows; }

}  // namespace ulpfuzz
