#include <cmath>
#include <numbers>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"

// Activation functions. Their backward kernels, which derivatives call, are in
// activation_backward.cc.
namespace ulpfuzz {

namespace {

constexpr Numerics kFunction{.function_ulps = 4};
constexpr double kEdges[] = {0.0,  -0.0,  1e-8,   -1e-6, 1e-4,   3.0,  -3.0, 6.0,
                             20.0, -20.0, 20.001, -88.0, -104.0, 89.0, 3e38, -3e38};
constexpr double kUnitRange[] = {0.0, 1.0, 0.5, 1e-6, 0.999999, 1e-30, 0.1, 0.9};
constexpr double kSpecial[] = {0.0, -0.0, 1.0, -1.0, 6.0, kInf, -kInf, NAN, 1e-45, 3e38};

struct GeluKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.call().string("approximate") == "tanh") {
      map_real(
          k.out(),
          [](const T& x) {
            const T cube = x * x * x;
            const T inner =
                (x + cube * 0.044715) * (std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
            return x * (tanh(inner) + 1.0) * 0.5;
          },
          k.in("self"));
    } else {
      map_real(
          k.out(), [](const T& x) { return x * one_plus_erf(x * (std::numbers::sqrt2 / 2)) * 0.5; },
          k.in("self"));
    }
  }
};

struct SoftplusKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T beta = k.number("beta"), threshold = k.number("threshold");
    map_real(
        k.out(),
        [&](const T& x) {
          const T z = x * beta;
          return joined(less(threshold, z), x, log1p(exp(z)) / beta);
        },
        k.in("self"));
  }
};

struct LeakyReluKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T slope = k.number("negative_slope");
    map_real(
        k.out(), [&](const T& x) { return joined(less(exactly(x, 0), x), x, x * slope); },
        k.in("self"));
  }
};

struct EluKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T negative = k.number("alpha") * k.number("scale");
    const T positive = k.number("scale"), inside = k.number("input_scale");
    map_real(
        k.out(),
        [&](const T& x) {
          const Int<T> below = less_equal(x, exactly(x, 0));
          return joined(below, expm1(x * inside) * negative, x * positive);
        },
        k.in("self"));
  }
};

struct HardtanhKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T low = k.number("min_val"), high = k.number("max_val");
    map_real(
        k.out(), [&](const T& x) { return min_of(max_of(x, low), high); }, k.in("self"));
  }
};

struct LogitKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const bool clamped = k.has("eps") && k.call().floating("eps") >= 0;
    const double eps = clamped ? k.call().floating("eps") : 0;
    // Eager holds both bounds in the nominal dtype.
    const T low = k.number(Scalar{eps}), high = k.number(Scalar{1 - eps});
    map_real(
        k.out(),
        [&](const T& x) {
          const T p = clamped ? min_of(max_of(x, low), high) : x;
          return log(p / (exactly(p, 1) - p));
        },
        k.in("self"));
  }
};

// min(x + 3, 6) cut at 0: what hardswish and hardsigmoid are made of.
constexpr auto kRelu6 = [](const auto& x) {
  return min_of(max_of(x, exactly(x, 0)), exactly(x, 6));
};

std::vector<TensorType> infer_hardtanh(const Call& call) {
  require_floating(call, "self");
  require_fits(call, call.scalar("min_val"), call.tensor("self").dtype);
  require_fits(call, call.scalar("max_val"), call.tensor("self").dtype);
  return {call.tensor("self")};
}

std::vector<TensorType> infer_gelu(const Call& call) {
  const std::string& approximate = call.string("approximate");
  if (approximate != "none" && approximate != "tanh") {
    call.fail("approximate must be 'none' or 'tanh'");
  }
  return infer_floating(call);
}

// A backward kernel of `grad_output` and `self`, with the forward call's numbers.
void through(Backward& b, const std::string& op, std::initializer_list<const char*> numbers = {}) {
  std::vector<NamedArgument> args{{"grad_output", gradient(b).ref}, {"self", b.input("self")}};
  for (const char* arg : numbers) args.push_back({arg, b.call().scalar(arg)});
  give(b, "self", emit(b, op, std::move(args)));
}

void elu_backward(Backward& b) {
  const Call& call = b.call();
  give(b, "self",
       emit(b, "aten.elu_backward.default",
            {{"grad_output", gradient(b).ref},
             {"alpha", call.scalar("alpha")},
             {"scale", call.scalar("scale")},
             {"input_scale", call.scalar("input_scale")},
             {"is_result", false},
             {"self_or_result", b.input("self")}}));
}

void gelu_backward(Backward& b) {
  give(b, "self",
       emit(b, "aten.gelu_backward.default",
            {{"grad_output", gradient(b).ref},
             {"self", b.input("self")},
             {"approximate", b.call().string("approximate")}}));
}

void leaky_relu_backward(Backward& b) {
  give(b, "self",
       emit(b, "aten.leaky_relu_backward.default",
            {{"grad_output", gradient(b).ref},
             {"self", b.input("self")},
             {"negative_slope", b.call().scalar("negative_slope")},
             {"self_is_result", false}}));
}

void logit_backward(Backward& b) {
  std::vector<NamedArgument> args{{"grad_output", gradient(b).ref}, {"self", b.input("self")}};
  if (b.call().given("eps")) args.push_back({"eps", b.call().floating("eps")});
  give(b, "self", emit(b, "aten.logit_backward.default", std::move(args)));
}

void log_sigmoid_backward(Backward& b) {
  // The buffer that ATen's forward saves on a CPU.
  const Expr saved = unary("exp", -unary("abs", input(b, "self")));
  give(b, "self",
       emit(b, "aten.log_sigmoid_backward.default",
            {{"grad_output", gradient(b).ref}, {"self", b.input("self")}, {"buffer", saved.ref}}));
}

void relu_backward(Backward& b) {
  give(b, "self",
       emit(b, "aten.threshold_backward.default",
            {{"grad_output", gradient(b).ref},
             {"self", b.output()},
             {"threshold", Scalar{std::int64_t{0}}}}));
}

void relu6_backward(Backward& b) {  // a composite: ATen's relu6 is hardtanh(0, 6)
  give(b, "self",
       emit(b, "aten.hardtanh_backward.default",
            {{"grad_output", gradient(b).ref},
             {"self", b.input("self")},
             {"min_val", Scalar{std::int64_t{0}}},
             {"max_val", Scalar{std::int64_t{6}}}}));
}

void sigmoid_backward(Backward& b) {
  give(b, "self",
       emit(b, "aten.sigmoid_backward.default",
            {{"grad_output", gradient(b).ref}, {"output", b.output()}}));
}

bool draw_gelu(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand(want_floating())}};
  if (d.random().chance(0.5)) args.push_back({"approximate", std::string("tanh")});
  return d.call(std::move(args));
}

bool draw_softplus(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand(want_floating())}};
  if (d.random().chance(0.5)) {
    args.push_back({"beta", Scalar{d.random().chance(0.5) ? 2.0 : 0.5}});
    if (d.random().chance(0.5)) args.push_back({"threshold", Scalar{std::int64_t{4}}});
  }
  return d.call(std::move(args));
}

bool draw_leaky_relu(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand(want_floating())}};
  if (d.random().chance(0.6)) args.push_back({"negative_slope", draw_fraction(d)});
  return d.call(std::move(args));
}

bool draw_elu(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand(want_floating())}};
  if (d.random().chance(0.5)) args.push_back({"alpha", Scalar{d.random().chance(0.5) ? 0.5 : 1.7}});
  return d.call(std::move(args));
}

bool draw_hardtanh(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand(want_floating())}};
  if (d.random().chance(0.5)) {
    args.push_back({"min_val", Scalar{-0.5}});
    args.push_back({"max_val", Scalar{d.random().chance(0.5) ? 0.75 : 2.0}});
  }
  return d.call(std::move(args));
}

bool draw_logit(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand(want_floating())}};
  if (d.random().chance(0.7)) args.push_back({"eps", d.random().chance(0.5) ? 1e-3 : 0.1});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::sigmoid(Tensor self) -> Tensor",
     .python = "torch.sigmoid",
     .infer = infer_unary_float,
     .kernels = &kUnary<[](const auto& x) { return sigmoid(x); }>,
     .derivative = sigmoid_backward,
     .draw = draw_unary_float,
     .numerics = kFunction,
     .edges = kEdges},
    {.schema = "aten::log_sigmoid(Tensor self) -> Tensor",
     .python = "torch.nn.functional.logsigmoid",
     .infer = infer_floating,
     .kernels =
         &kUnary<[](const auto& x) { return min_of(x, exactly(x, 0)) - log1p(exp(-abs(x))); }>,
     .derivative = log_sigmoid_backward,
     .draw = draw_floating,
     .weight = 0.6,
     .numerics = kFunction,
     .edges = kEdges},
    {.schema = "aten::relu(Tensor self) -> Tensor",
     .python = "torch.relu",
     .infer = infer_same_no_bool,
     .kernels = &kNumericUnary<[](const auto& x) { return max_of(x, exactly(x, 0)); },
                               [](std::int64_t x) { return 0 < x ? x : 0; }>,
     .derivative = relu_backward,
     .draw = draw_numeric,
     .edges = kSpecial},
    {.schema = "aten::relu6(Tensor self) -> Tensor",
     .python = "torch.nn.functional.relu6",
     .infer = infer_floating,
     .kernels = &kUnary<kRelu6>,
     .derivative = relu6_backward,
     .draw = draw_floating,
     .weight = 0.5,
     .edges = kSpecial},
    {.schema = "aten::silu(Tensor self) -> Tensor",
     .python = "torch.nn.functional.silu",
     .infer = infer_floating,
     .kernels = &kUnary<[](const auto& x) { return x * sigmoid(x); }>,
     .derivative = [](Backward& b) { through(b, "aten.silu_backward.default"); },
     .draw = draw_floating,
     .numerics = kFunction,
     .edges = kEdges},
    {.schema = "aten::mish(Tensor self) -> Tensor",
     .python = "torch.nn.functional.mish",
     .infer = infer_floating,
     .kernels = &kUnary<[](const auto& x) { return x * tanh(log1p(exp(x))); }>,
     .derivative = [](Backward& b) { through(b, "aten.mish_backward.default"); },
     .draw = draw_floating,
     .weight = 0.6,
     .numerics = kFunction,
     .edges = kEdges},
    {.schema = "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
     .python = "torch.nn.functional.gelu",
     .infer = infer_gelu,
     .kernels = &kKernels<GeluKernel>,
     .derivative = gelu_backward,
     .draw = draw_gelu,
     .numerics = kFunction,
     .edges = kEdges},
    {.schema = "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     .python = "torch.nn.functional.softplus",
     .infer = infer_floating,
     .kernels = &kKernels<SoftplusKernel>,
     .derivative =
         [](Backward& b) {
           through(b, "aten.softplus_backward.default", {"beta", "threshold"});
         },
     .draw = draw_softplus,
     .numerics = kFunction,
     .edges = kEdges},
    {.schema = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
     .python = "torch.nn.functional.leaky_relu",
     .infer = infer_floating,
     .kernels = &kKernels<LeakyReluKernel>,
     .derivative = leaky_relu_backward,
     .draw = draw_leaky_relu,
     .edges = kSpecial},
    {.schema = "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) "
               "-> Tensor",
     .python = "torch.nn.functional.elu",
     .infer = infer_floating,
     .kernels = &kKernels<EluKernel>,
     .derivative = elu_backward,
     .draw = draw_elu,
     .numerics = kFunction,
     .edges = kEdges},
    {.schema = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     .python = "torch.nn.functional.hardtanh",
     .infer = infer_hardtanh,
     .kernels = &kKernels<HardtanhKernel>,
     .derivative =
         [](Backward& b) {
           through(b, "aten.hardtanh_backward.default", {"min_val", "max_val"});
         },
     .draw = draw_hardtanh,
     .weight = 0.6,
     .edges = kSpecial},
    {.schema = "aten::hardswish(Tensor self) -> Tensor",
     .python = "torch.nn.functional.hardswish",
     .infer = infer_floating,
     .kernels = &kUnary<[](const auto& x) { return x * kRelu6(x + 3.0) / 6.0; }>,
     .derivative = [](Backward& b) { through(b, "aten.hardswish_backward.default"); },
     .draw = draw_floating,
     .weight = 0.6,
     .edges = kEdges},
    {.schema = "aten::hardsigmoid(Tensor self) -> Tensor",
     .python = "torch.nn.functional.hardsigmoid",
     .infer = infer_floating,
     .kernels = &kUnary<[](const auto& x) { return kRelu6(x + 3.0) / 6.0; }>,
     .derivative = [](Backward& b) { through(b, "aten.hardsigmoid_backward.default"); },
     .draw = draw_floating,
     .weight = 0.6,
     .edges = kEdges},
    {.schema = "aten::logit(Tensor self, float? eps=None) -> Tensor",
     .python = "torch.logit",
     .infer = infer_unary_float,
     .kernels = &kKernels<LogitKernel>,
     .derivative = logit_backward,
     .draw = draw_logit,
     .weight = 0.6,
     // Eager computes half types in themselves.
     .numerics = {.function_ulps = 4, .narrow_accumulator = true, .rounds_numbers = true},
     .edges = kUnitRange},
};

}  // namespace

std::span<const OpRow> activation_rows() { return kRows; }

}  // namespace ulpfuzz
