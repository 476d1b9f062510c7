#include <cmath>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/reduce.h"

// Extrema and their positions, any and all. NaN is larger and smaller than every number; of equal
// elements the first is named.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, -0.0, 1.0, 1.0, -1.0, kInf, -kInf, NAN, 127.0, -128.0, 3e38};

// ---- values ---------------------------------------------------------------------------------

// max (kSign 1) or min (-1) of n elements.
template <int kSign, class T, class At>
T real_extremum(const Tensor<T>& x, const At& at, std::size_t n) {
  T best = x.real(at(0));
  for (std::size_t j = 1; j < n; ++j) {
    best = kSign > 0 ? max_of(best, x.real(at(j))) : min_of(best, x.real(at(j)));
  }
  return best;
}

template <int kSign, class T, class At>
Int<T> int_extremum(const Tensor<T>& x, const At& at, std::size_t n) {
  std::int64_t best = value_of(x.integer(at(0)));
  int marks = marks_of(x.integer(at(0)));
  for (std::size_t j = 1; j < n; ++j) {
    const std::int64_t other = value_of(x.integer(at(j)));
    if (kSign > 0 ? other > best : other < best) best = other;
    marks |= marks_of(x.integer(at(j)));
  }
  return make_int<T>(best, marks);
}

template <int kSign, class T>
void extremum_into(const Call& call, const Tensor<T>& x, const Tensor<T>& out) {
  reduce_terms(call, x, [&](std::int64_t o, const auto& at, std::size_t n) {
    if (x.integral()) {
      out.integer(o) = int_extremum<kSign>(x, at, n);
    } else {
      out.real(o) = real_extremum<kSign>(x, at, n);
    }
  });
}

template <int kSign>
struct ExtremumKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    extremum_into<kSign>(k.call(), k.in("self"), k.out());
  }
};

// ---- positions ------------------------------------------------------------------------------

// The first of the best elements. Marked when another one is within error of it.
template <int kSign, class T, class At>
Int<T> index_of_extremum(const Tensor<T>& x, const At& at, std::size_t n) {
  std::size_t best = 0;
  int marks = 0;
  if (x.integral()) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t a = value_of(x.integer(at(j))), b = value_of(x.integer(at(best)));
      if (kSign > 0 ? a > b : a < b) best = j;
      marks |= marks_of(x.integer(at(j)));
    }
    return make_int<T>(static_cast<std::int64_t>(best), marks);
  }
  for (std::size_t j = 1; j < n; ++j) {
    const T &a = x.real(at(j)), &b = x.real(at(best));
    if (value_of(is_nan(b)) != 0) break;
    const bool better = kSign > 0 ? value_of(less(b, a)) != 0 : value_of(less(a, b)) != 0;
    if (better || value_of(is_nan(a)) != 0) best = j;
  }
  const T& chosen = x.real(at(best));
  for (std::size_t j = 0; j < n; ++j) {
    if (j != best)
      marks |= marks_of(equal(x.real(at(j)), chosen)) | marks_of(is_nan(x.real(at(j))));
  }
  return make_int<T>(static_cast<std::int64_t>(best), marks);
}

template <int kSign>
struct ArgExtremumKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& x = k.in("self");
    reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
      k.out().integer(o) = index_of_extremum<kSign>(x, at, n);
    });
  }
};

// max.dim: values and indices.
template <int kSign>
struct ExtremumDimKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& x = k.in("self");
    extremum_into<kSign>(k.call(), x, k.out(0));
    reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
      k.out(1).integer(o) = index_of_extremum<kSign>(x, at, n);
    });
  }
};

std::vector<TensorType> infer_extremum_dim(const Call& call) {
  const TensorType values = infer_reduction(call)[0];
  return {values, {DType::kInt64, values.shape}};
}

std::vector<TensorType> infer_arg(const Call& call) {
  require_no_bool(call, "self");
  return {{DType::kInt64, infer_reduction(call)[0].shape}};
}

// Zeros of the operand's shape with the gradient where the extremum was.
struct ValueSelectingBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& out = k.out();
    const Tensor<T> grad = k.in("grad").contiguous(), indices = k.in("indices").contiguous();
    const int dim = wrap_dim(k.call().integer("dim"), out.shape().size());
    const std::int64_t size = out.rank() == 0 ? 1 : out.shape()[static_cast<std::size_t>(dim)];
    const T zero = widen<T>(0);
    for_each_line(
        dim,
        [&](const auto& line) {
          const T& g = grad.real(grad.offset() + line.index);
          const Int<T>& index = indices.integer(indices.offset() + line.index);
          for (std::int64_t i = 0; i < size; ++i) {
            const Int<T> here = make_int<T>(i == value_of(index), marks_of(index));
            out.real(line.at[0] + i * line.step[0]) = select(here, g, zero);
          }
        },
        out);
  }
};

std::vector<TensorType> infer_value_selecting_backward(const Call& call) {
  require_floating(call, "grad");
  require_dtype(call, "indices", DType::kInt64);
  return {{call.tensor("grad").dtype, call.integers("sizes")}};
}

// ---- derivatives ----------------------------------------------------------------------------

bool keepdim(Backward& b) {
  return b.call().op().schema.find("keepdim") != nullptr && b.call().boolean("keepdim");
}

// amax: the gradient is shared by all that equal the extremum.
void shared_backward(Backward& b) {
  const Expr x = input(b, "self");
  const std::size_t rank = x.type().shape.size();
  const std::vector<int> dims = reduced_dims(b.call());
  const Expr result = unreduced(output(b), dims, rank, keepdim(b));
  const Expr g = unreduced(gradient(b), dims, rank, keepdim(b));
  const Expr mask = compare("eq", result, x);
  give(b, "self", g * mask / sum(mask, dims, true));
}

// max of everything: evenly_distribute_backward, in which NaN equals NaN.
void evenly_backward(Backward& b) {
  const Expr x = input(b, "self"), y = output(b);
  const Expr nan = logical("and", unary("isnan", x), unary("isnan", y));
  const Expr mask = logical("or", compare("eq", x, y), nan);
  const Expr share = gradient(b) / unary("sum", mask);
  give(b, "self", where(mask, share, zeros_like(x)));
}

void value_selecting_backward(Backward& b) {
  const Expr x = input(b, "self");
  give(b, "self",
       emit(b, "aten.value_selecting_reduction_backward.default",
            {{"grad", gradient(b).ref},
             {"dim", Dim(b.call().integer("dim"))},
             {"indices", b.output(1)},
             {"sizes", as_dims(x.type().shape)},
             {"keepdim", keepdim(b)}}));
}

// ---- any and all ----------------------------------------------------------------------------

std::vector<TensorType> infer_any(const Call& call) {
  const DType self = call.tensor("self").dtype;
  return {reduced(call, self == DType::kUInt8 ? DType::kUInt8 : DType::kBool)};
}

template <bool kAny>
struct AnyKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& x = k.in("self");
    const T zero = widen<T>(0);
    reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
      Int<T> result = make_int<T>(kAny ? 0 : 1);
      for (std::size_t j = 0; j < n; ++j) {
        Int<T> is_true{};
        if (x.integral()) {
          const Int<T>& i = x.integer(at(j));
          is_true = make_int<T>(value_of(i) != 0, marks_of(i));
        } else {
          is_true = logical_not(equal(x.real(at(j)), zero));
        }
        result = kAny ? logical_or(result, is_true) : logical_and(result, is_true);
      }
      k.out().integer(o) = result;
    });
  }
};

bool draw_arg(Draw& d) {
  const Ref self = d.operand(want_numeric(1));
  std::vector<NamedArgument> args{{"self", self}};
  add_reduced_dims(d, self, args);
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .python = "torch.amax",
     .infer = infer_reduction,
     .kernels = &kKernels<ExtremumKernel<1>>,
     .derivative = shared_backward,
     .draw = draw_reduction,
     .edges = kEdges},
    {.schema = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .python = "torch.amin",
     .infer = infer_reduction,
     .kernels = &kKernels<ExtremumKernel<-1>>,
     .derivative = shared_backward,
     .draw = draw_reduction,
     .weight = 0.7,
     .edges = kEdges},
    {.schema = "aten::max(Tensor self) -> Tensor",
     .python = "torch.max",
     .infer = infer_reduction,
     .kernels = &kKernels<ExtremumKernel<1>>,
     .derivative = evenly_backward,
     .draw = draw_reduction,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::min(Tensor self) -> Tensor",
     .python = "torch.min",
     .infer = infer_reduction,
     .kernels = &kKernels<ExtremumKernel<-1>>,
     .derivative = evenly_backward,
     .draw = draw_reduction,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> "
               "(Tensor values, Tensor indices)",
     .python = "torch.max",
     .infer = infer_extremum_dim,
     .kernels = &kKernels<ExtremumDimKernel<1>>,
     .derivative = value_selecting_backward,
     .draw = draw_reduction,
     .numerics = {.arg_result = 1},
     .edges = kEdges},
    {.schema = "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> "
               "(Tensor values, Tensor indices)",
     .python = "torch.min",
     .infer = infer_extremum_dim,
     .kernels = &kKernels<ExtremumDimKernel<-1>>,
     .derivative = value_selecting_backward,
     .draw = draw_reduction,
     .weight = 0.7,
     .numerics = {.arg_result = 1, .arg_of = Numerics::Extremum::kSmallest},
     .edges = kEdges},
    {.schema = "aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, "
               "SymInt[] sizes, bool keepdim) -> Tensor",
     .python = "torch.ops.aten.value_selecting_reduction_backward",
     .infer = infer_value_selecting_backward,
     .kernels = &kKernels<ValueSelectingBackwardKernel>,
     .weight = 0},
    {.schema = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .python = "torch.argmax",
     .infer = infer_arg,
     .kernels = &kKernels<ArgExtremumKernel<1>>,
     .draw = draw_arg,
     .weight = 0.8,
     .numerics = {.arg_result = 0},
     .edges = kEdges},
    {.schema = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .python = "torch.argmin",
     .infer = infer_arg,
     .kernels = &kKernels<ArgExtremumKernel<-1>>,
     .draw = draw_arg,
     .weight = 0.8,
     .numerics = {.arg_result = 0, .arg_of = Numerics::Extremum::kSmallest},
     .edges = kEdges},
    {.schema = "aten::any(Tensor self) -> Tensor",
     .python = "torch.any",
     .infer = infer_any,
     .kernels = &kKernels<AnyKernel<true>>,
     .draw = draw_reduction_any,
     .weight = 0.4,
     .edges = kEdges},
    {.schema = "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .python = "torch.any",
     .infer = infer_any,
     .kernels = &kKernels<AnyKernel<true>>,
     .draw = draw_reduction_any,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::all(Tensor self) -> Tensor",
     .python = "torch.all",
     .infer = infer_any,
     .kernels = &kKernels<AnyKernel<false>>,
     .draw = draw_reduction_any,
     .weight = 0.4,
     .edges = kEdges},
    {.schema = "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .python = "torch.all",
     .infer = infer_any,
     .kernels = &kKernels<AnyKernel<false>>,
     .draw = draw_reduction_any,
     .weight = 0.5,
     .edges = kEdges},
};

}  // namespace

std::span<const OpRow> reduce_extremum_rows() { return kRows; }

}  // namespace ulpfuzz
