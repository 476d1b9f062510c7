#include "ops/softmax.h"

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// Softmax and its logarithm. A `dtype` argument converts first, as ATen does.
namespace ulpfuzz {
namespace {

std::vector<TensorType> infer_softmax(const Call& call) {
  require_real(call, "self");
  TensorType type = call.tensor("self");
  if (call.given("dtype")) type.dtype = call.dtype("dtype");
  if (!is_floating(type.dtype)) call.fail("softmax is of floating tensors");
  wrap_dim(call.integer("dim"), type.shape.size());
  return {type};
}

template <class F>
struct LineKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const Tensor<T> x = as_real(self).tensor;
    const int dim = wrap_dim(k.call().integer("dim"), x.shape().size());
    const std::int64_t n = x.rank() == 0 ? 1 : x.shape()[static_cast<std::size_t>(dim)];
    if (x.size() == 0) return;
    std::vector<T> values(static_cast<std::size_t>(n));
    for_each_line(
        dim,
        [&](const Line<2>& line) {
          for (std::int64_t i = 0; i < n; ++i) {
            values[static_cast<std::size_t>(i)] = x.real(line.at[0] + i * line.step[0]);
          }
          F::apply(values, k.out().dtype());
          for (std::int64_t i = 0; i < n; ++i) {
            k.out().real(line.at[1] + i * line.step[1]) = values[static_cast<std::size_t>(i)];
          }
        },
        x, k.out());
  }
};

struct Softmax {
  template <class T>
  static void apply(std::vector<T>& x, DType dtype) {
    softmax_line(x, false, dtype);
  }
};
struct SafeSoftmax {
  template <class T>
  static void apply(std::vector<T>& x, DType dtype) {
    softmax_line(x, true, dtype);
  }
};
struct LogSoftmax {
  template <class T>
  static void apply(std::vector<T>& x, DType dtype) {
    const T largest = shift_of(x);
    Sum<T> sum;
    for (T& value : x) {
      value = value - largest;
      sum.add(exp(value));
    }
    // ATen's vector code keeps the sum and its logarithm in the tensor's own type.
    const T logarithm = maybe_half(log(maybe_half(sum.total(), dtype)), dtype);
    for (T& value : x) value = value - logarithm;
  }
};

// Gradients as ATen computes them from the result, one kernel each.

std::vector<TensorType> infer_softmax_backward(const Call& call) {
  require_floating(call, "grad_output");
  require_floating(call, "output");
  const TensorType& output = call.tensor("output");
  if (call.tensor("grad_output") != output) call.fail("the gradient must be as the output");
  wrap_dim(call.integer("dim"), output.shape.size());
  return {{call.dtype("input_dtype"), output.shape}};
}

template <bool kLog>
struct SoftmaxBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>&g = k.in("grad_output"), &y = k.in("output");
    const int dim = wrap_dim(k.call().integer("dim"), y.shape().size());
    const std::int64_t n = y.rank() == 0 ? 1 : y.shape()[static_cast<std::size_t>(dim)];
    if (y.size() == 0) return;
    for_each_line(
        dim,
        [&](const Line<3>& line) {
          const auto at = [&](const Tensor<T>& t, std::size_t which, std::int64_t i) -> T& {
            return t.real(line.at[which] + i * line.step[which]);
          };
          Sum<T> sum;
          for (std::int64_t i = 0; i < n; ++i) {
            if (kLog) {
              sum.add(at(g, 0, i));
            } else {
              sum.add_product(at(g, 0, i), at(y, 1, i));
            }
          }
          const T total = sum.total();
          for (std::int64_t i = 0; i < n; ++i) {
            const T weight = kLog ? exp(at(y, 1, i)) : at(y, 1, i);
            const T own = kLog ? at(g, 0, i) : at(g, 0, i) * weight;
            at(k.out(), 2, i) = own - weight * total;
          }
        },
        g, y, k.out());
  }
};

template <bool kLog>
void derive_softmax(Backward& b) {
  const std::string name =
      kLog ? "aten._log_softmax_backward_data.default" : "aten._softmax_backward_data.default";
  give(b, "self",
       emit(b, name,
            {{"grad_output", b.gradient()},
             {"output", b.output()},
             {"dim", Dim(b.call().integer("dim"))},
             {"input_dtype", b.type(b.output()).dtype}}));
}

bool draw_softmax(Draw& d) {
  const bool converts = d.random().chance(0.1);
  const Ref self = d.operand({.types = converts ? Want::Types::kNumeric : Want::Types::kFloating,
                              .min_rank = d.random().chance(0.03) ? 0 : 1});
  std::vector<NamedArgument> args = {{"self", self},
                                     {"dim", Dim(d.random().chance(0.5) ? -1 : d.dim(self))}};
  if (converts) args.push_back({"dtype", d.floating_dtype()});
  return d.call(std::move(args));
}

// ATen's vector code takes an exponential that is right to 20 ulps.
constexpr Numerics kWithFastExp{.function_ulps = 20};
constexpr Numerics kWithExp{.function_ulps = 6};

constexpr OpRow kRows[] = {
    {.schema = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .python = "torch.softmax",
     .infer = infer_softmax,
     .kernels = &kKernels<LineKernel<Softmax>>,
     .derivative = derive_softmax<false>,
     .draw = draw_softmax,
     .weight = 1.5,
     .numerics = kWithFastExp},
    {.schema = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .python = "torch.log_softmax",
     .infer = infer_softmax,
     .kernels = &kKernels<LineKernel<LogSoftmax>>,
     .derivative = derive_softmax<true>,
     .draw = draw_softmax,
     .numerics = kWithExp},
    {.schema = "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .python = "torch.ops.aten._safe_softmax",
     .infer = infer_softmax,
     .kernels = &kKernels<LineKernel<SafeSoftmax>>,
     .derivative = derive_softmax<false>,
     .weight = 0,
     .numerics = kWithFastExp},
    {.schema = "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
               "ScalarType input_dtype) -> Tensor",
     .python = "torch.ops.aten._softmax_backward_data",
     .infer = infer_softmax_backward,
     .kernels = &kKernels<SoftmaxBackwardKernel<false>>,
     .weight = 0,
     .numerics = kWithExp},
    {.schema = "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
               "ScalarType input_dtype) -> Tensor",
     .python = "torch.ops.aten._log_softmax_backward_data",
     .infer = infer_softmax_backward,
     .kernels = &kKernels<SoftmaxBackwardKernel<true>>,
     .weight = 0,
     .numerics = kWithExp},
};

}  // namespace

std::span<const OpRow> softmax_rows() { return kRows; }

}  // namespace ulpfuzz
