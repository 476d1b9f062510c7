#include <cmath>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/infer.h"

// The backward kernels that derivatives of activations call, as ATen has them: one rounding to the
// nominal dtype at their end, arithmetic in opmath before it. They are no public API, so op graphs
// do not draw them; joint programs contain them.
namespace ulpfuzz {

namespace {

constexpr Numerics kFunction{.function_ulps = 4};

// The result has the broadcast shape and promoted dtype of the two tensors named.
template <const char* const* kArgs>
std::vector<TensorType> infer_pair(const Call& call) {
  require_floating(call, kArgs[0]);
  require_floating(call, kArgs[1]);
  return {{promoted(call, {kArgs[0], kArgs[1]}), broadcast_shape(call, {kArgs[0], kArgs[1]})}};
}
constexpr const char* kSelfArgs[] = {"grad_output", "self"};
constexpr const char* kOutputArgs[] = {"grad_output", "output"};
constexpr const char* kEluArgs[] = {"grad_output", "self_or_result"};
constexpr TypeRule kOfSelf = infer_pair<kSelfArgs>;
constexpr TypeRule kOfOutput = infer_pair<kOutputArgs>;
constexpr TypeRule kOfElu = infer_pair<kEluArgs>;

// out = f(grad_output, self or output)
template <auto kFormula, const char* const* kArgs>
struct PairKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map_real(
        k.out(), [](const T& g, const T& x) -> T { return kFormula(g, x); }, k.in(kArgs[0]),
        k.in(kArgs[1]));
  }
};
template <auto kFormula, const char* const* kArgs = kSelfArgs>
inline constexpr OpKernels kPair = kKernels<PairKernel<kFormula, kArgs>>;

// Eager's vector code and its scalar code, which does the last elements of a row, disagree about
// the gradient at a NaN here.
template <class T>
T unless_nan(const T& x, T result) {
  if constexpr (kIsRunning<T>) {
    if (base::is_nan(x.v)) result.e = kInf, result.marks |= kUndefined;
  }
  return result;
}

template <class T, class F>
void map_pair(Kernel<T>& k, F&& f) {
  map_real(k.out(), std::forward<F>(f), k.in("grad_output"), k.in("self"));
}

// Systems multiply by 1/6 as opmath holds it, which is the same error in every element.
struct HardsigmoidBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T sixth = k.number(Scalar{1.0 / 6.0});
    map_pair(k, [&](const T& g, const T& x) {
      const auto inside = logical_and(less(exactly(x, -3), x), less(x, exactly(x, 3)));
      return select(inside, g * sixth, exactly(g, 0));
    });
  }
};

struct GeluBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2/pi)
    constexpr double kKappa = 0.044715;
    if (k.call().string("approximate") == "tanh") {
      map_pair(k, [](const T& g, const T& x) {
        const T square = x * x;
        const T t = tanh((x + square * x * kKappa) * kBeta);
        const T left = x * 0.5;
        const T slope = left * (exactly(t, 1) - t * t) * ((square * (3 * kKappa) + 1.0) * kBeta);
        return g * ((t + 1.0) * 0.5 + slope);
      });
    } else {
      map_pair(k, [](const T& g, const T& x) {
        const T cdf = one_plus_erf(x * (std::numbers::sqrt2 / 2)) * 0.5;
        const T pdf = exp(x * x * -0.5) * (kBeta / 2);
        return g * (cdf + x * pdf);
      });
    }
  }
};

struct SoftplusBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T beta = k.number("beta"), threshold = k.number("threshold");
    map_pair(k, [&](const T& g, const T& x) {
      const T z = x * beta;
      const T e = exp(z);
      return joined(less(threshold, z), g, g * e / (e + 1.0));
    });
  }
};

struct ThresholdBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T threshold = k.number("threshold");
    map_pair(k, [&](const T& g, const T& x) {
      return select(less_equal(x, threshold), exactly(g, 0), g);
    });
  }
};

struct LeakyReluBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T slope = k.number("negative_slope");
    map_pair(k,
             [&](const T& g, const T& x) { return select(less(exactly(x, 0), x), g, g * slope); });
  }
};

struct EluBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T negative = k.number("alpha") * k.number("scale");
    const T positive = k.number("scale"), inside = k.number("input_scale");
    const bool is_result = k.call().boolean("is_result");
    map_real(
        k.out(),
        [&](const T& g, const T& x) {
          const T slope = is_result ? x + negative : exp(x * inside) * negative;
          return unless_nan(x,
                            select(less_equal(x, exactly(x, 0)), g * inside * slope, g * positive));
        },
        k.in("grad_output"), k.in("self_or_result"));
  }
};

struct HardtanhBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const T low = k.number("min_val"), high = k.number("max_val");
    map_pair(k, [&](const T& g, const T& x) {
      const Int<T> outside = logical_or(less_equal(x, low), less_equal(high, x));
      return unless_nan(x, select(outside, exactly(g, 0), g));
    });
  }
};

struct LogitBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const bool clamped = k.has("eps") && k.call().floating("eps") >= 0;
    const double eps = clamped ? k.call().floating("eps") : 0;
    const T low = k.number(Scalar{eps}), high = k.number(Scalar{1 - eps});
    const T outer = widen<T>(clamped ? 0.0 : std::nan(""));
    map_pair(k, [&](const T& g, const T& x) {
      const Int<T> outside = logical_or(less(x, low), less(high, x));
      T inner = g / (x * (exactly(x, 1) - x));
      // At 0 and 1 ATen multiplies by infinity: the sign of a zero does not matter.
      const Int<T> pole = logical_or(equal(x, widen<T>(0)), equal(x, exactly(x, 1)));
      if (!clamped) inner = select(pole, g * widen<T>(kInf), inner);
      return clamped ? unless_nan(x, select(outside, outer, inner)) : select(outside, outer, inner);
    });
  }
};

struct LogSigmoidBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map_real(
        k.out(),
        [](const T& g, const T& x, const T& z) {  // z = exp(-|x|)
          const T part = z / (z + 1.0);
          return g * joined(less(x, exactly(x, 0)), exactly(x, 1) - part, part);
        },
        k.in("grad_output"), k.in("self"), k.in("buffer"));
  }
};

constexpr OpRow kRows[] = {
    {.schema = "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
     .python = "torch.ops.aten.tanh_backward",
     .infer = kOfOutput,
     .kernels = &kPair<[](const auto& g, const auto& y) { return g * (exactly(y, 1) - y * y); },
                       kOutputArgs>,
     .weight = 0},
    {.schema = "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
     .python = "torch.ops.aten.sigmoid_backward",
     .infer = kOfOutput,
     .kernels = &kPair<[](const auto& g, const auto& y) { return g * (exactly(y, 1) - y) * y; },
                       kOutputArgs>,
     .weight = 0},
    {.schema = "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor",
     .python = "torch.ops.aten.silu_backward",
     .infer = kOfSelf,
     .kernels = &kPair<[](const auto& g, const auto& x) {
       const auto s = sigmoid(x);
       return g * s * (x * (exactly(s, 1) - s) + 1.0);
     }>,
     .weight = 0,
     .numerics = kFunction},
    {.schema = "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor",
     .python = "torch.ops.aten.mish_backward",
     .infer = kOfSelf,
     .kernels = &kPair<[](const auto& g, const auto& x) {
       const auto t = tanh(log1p(exp(x)));
       return g * (t + x * sigmoid(x) * (exactly(t, 1) - t * t));
     }>,
     .weight = 0,
     .numerics = kFunction},
    {.schema =
         "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
     .python = "torch.ops.aten.log_sigmoid_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<LogSigmoidBackwardKernel>,
     .weight = 0,
     .numerics = kFunction},
    {.schema = "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') "
               "-> Tensor",
     .python = "torch.ops.aten.gelu_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<GeluBackwardKernel>,
     .weight = 0,
     .numerics = kFunction},
    {.schema = "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, "
               "Scalar threshold) -> Tensor",
     .python = "torch.ops.aten.softplus_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<SoftplusBackwardKernel>,
     .weight = 0,
     .numerics = kFunction},
    {.schema = "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) "
               "-> Tensor",
     .python = "torch.ops.aten.threshold_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<ThresholdBackwardKernel>,
     .weight = 0},
    {.schema = "aten::leaky_relu_backward(Tensor grad_output, Tensor self, "
               "Scalar negative_slope, bool self_is_result) -> Tensor",
     .python = "torch.ops.aten.leaky_relu_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<LeakyReluBackwardKernel>,
     .weight = 0},
    {.schema = "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, "
               "Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor",
     .python = "torch.ops.aten.elu_backward",
     .infer = kOfElu,
     .kernels = &kKernels<EluBackwardKernel>,
     .weight = 0,
     .numerics = kFunction},
    {.schema = "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, "
               "Scalar max_val) -> Tensor",
     .python = "torch.ops.aten.hardtanh_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<HardtanhBackwardKernel>,
     .weight = 0},
    {.schema = "aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
     .python = "torch.ops.aten.hardswish_backward",
     .infer = kOfSelf,
     .kernels = &kPair<[](const auto& g, const auto& x) {
       const auto inside = select(less(x, exactly(x, 3)), g * (x / 3.0 + 0.5), g);
       return unless_nan(x, select(less_equal(x, exactly(x, -3)), exactly(g, 0), inside));
     }>,
     .weight = 0},
    {.schema = "aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
     .python = "torch.ops.aten.hardsigmoid_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<HardsigmoidBackwardKernel>,
     .weight = 0},
    {.schema = "aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
     .python = "torch.ops.aten.logit_backward",
     .infer = kOfSelf,
     .kernels = &kKernels<LogitBackwardKernel>,
     .weight = 0,
     .numerics = {.narrow_accumulator = true, .rounds_numbers = true}},
};

}  // namespace

std::span<const OpRow> activation_backward_rows() { return kRows; }

}  // namespace ulpfuzz
