#include <algorithm>
#include <cmath>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/indices.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "ops/rounding.h"
#include "ops/softmax.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// Losses. `reduction` is at::Reduction: 0 none, 1 mean, 2 sum.
namespace ulpfuzz {
namespace {

enum Reducing : std::int64_t { kNone = 0, kMean = 1, kSum = 2 };

std::int64_t reduction_of(const Call& call) {
  const std::int64_t reduction = call.integer("reduction");
  if (reduction < kNone || reduction > kSum) call.fail("reduction must be 0, 1 or 2");
  return reduction;
}

// A result of one of the steps that ATen takes one after another.
template <class T>
T step(const T& x, DType dtype) {
  return maybe_half(x, dtype);
}

// ---- pointwise losses of (self, target) -----------------------------------------------------

std::vector<TensorType> infer_pair(const Call& call) {
  require_real(call, "self");
  require_real(call, "target");
  const Shape& shape = call.tensor("self").shape;
  if (call.tensor("target").shape != shape) call.fail("target must have self's shape");
  const DType dtype = promoted(call, {"self", "target"});
  if (!is_floating(dtype)) call.fail("losses are of floating tensors");
  return {{dtype, reduction_of(call) == kNone ? shape : Shape{}}};
}

template <class T>
struct Reducer {
  // Elements, reduced as the call says.
  static void reduce_into(Kernel<T>& k, const Tensor<T>& loss) {
    const std::int64_t reduction = reduction_of(k.call());
    if (reduction == kNone) {
      k.out().assign(loss);
      return;
    }
    Sum<T> sum;
    for (std::int64_t i = 0; i < loss.size(); ++i) sum.add(loss.real(i));
    const auto n = static_cast<double>(loss.size());
    k.out().real(0) = reduction == kMean ? sum.total() / n : sum.total();
  }
};

template <class F>
struct PairKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const DType dtype = k.out().dtype();
    const Tensor<T> loss(TensorType{dtype, k.in("self").shape()});
    map_real(
        loss, [&](const T& x, const T& t) { return step(F::apply(x, t, dtype), dtype); },
        k.in("self"), k.in("target"));
    Reducer<T>::reduce_into(k, loss);
  }
};

struct SquaredError {
  template <class T>
  static T apply(const T& x, const T& t, DType dtype) {
    const T difference = step(x - t, dtype);
    return difference * difference;
  }
};
struct AbsoluteError {
  template <class T>
  static T apply(const T& x, const T& t, DType dtype) {
    return abs(step(x - t, dtype));
  }
};
// (1 - t) x - log sigmoid(x), as ATen composes it.
struct LogitsEntropy {
  template <class T>
  static T apply(const T& x, const T& t, DType dtype) {
    const T tail = log1p(exp(-abs(x)));
    const T log_sigmoid = step(min_of(x, widen<T>(0)) - tail, dtype);
    return step(step(1.0 - t, dtype) * x, dtype) - log_sigmoid;
  }
};

// g, or g / n, of the loss's elements.
Expr element_gradient(Backward& b) {
  const Expr g = gradient(b);
  if (reduction_of(b.call()) != kMean) return g;
  return g / static_cast<double>(element_count(b.call().tensor("self").shape));
}

void give_pair(Backward& b, const Expr& by_self, const Expr& by_target) {
  const Shape& shape = b.call().tensor("self").shape;
  if (b.needs("self")) give(b, "self", expand(by_self, shape));
  if (b.needs("target")) give(b, "target", expand(by_target, shape));
}

void derive_mse(Backward& b) {
  const DType dtype = b.type(b.output()).dtype;
  const Expr difference = cast(input(b, "self"), dtype) - cast(input(b, "target"), dtype);
  // ATen rounds once more, as it multiplies by 2 / n.
  const Expr g = difference * (element_gradient(b) * 2.0);
  give_pair(b, g, -g);
}

void derive_l1(Backward& b) {
  const DType dtype = b.type(b.output()).dtype;
  const Expr difference = cast(input(b, "self"), dtype) - cast(input(b, "target"), dtype);
  const Expr g = unary("sign", difference) * element_gradient(b);
  give_pair(b, g, -g);
}

void derive_logits_entropy(Backward& b) {
  const DType dtype = b.type(b.output()).dtype;
  const Expr x = cast(input(b, "self"), dtype), t = cast(input(b, "target"), dtype);
  const Expr g = element_gradient(b);
  give_pair(b, (unary("sigmoid", x) - t) * g, -x * g);
}

std::vector<TensorType> infer_logits_entropy(const Call& call) {
  require_floating(call, "self");
  require_dtype(call, "target", call.tensor("self").dtype);
  if (call.given("weight") || call.given("pos_weight")) call.fail("weights are not supported");
  return infer_pair(call);
}

// ---- cross entropy of class indices ---------------------------------------------------------

int class_dim(const Call& call) { return call.tensor("self").shape.size() == 1 ? 0 : 1; }

std::vector<TensorType> infer_cross_entropy(const Call& call) {
  require_floating(call, "self");
  require_dtype(call, "target", DType::kInt64);
  if (call.floating("label_smoothing") != 0) call.fail("label_smoothing is not supported");
  Shape shape = call.tensor("self").shape;
  if (shape.empty()) call.fail("self needs a dimension of classes");
  const auto dim = shape.begin() + class_dim(call);
  const std::int64_t classes = *dim;
  if (classes == 0) call.fail("there must be a class");
  shape.erase(dim);
  if (call.tensor("target").shape != shape) call.fail("target must have one class a position");
  if (call.given("weight")) {
    require_dtype(call, "weight", call.tensor("self").dtype);
    if (call.tensor("weight").shape != Shape{classes}) call.fail("weight must be one a class");
  }
  return {{call.tensor("self").dtype, reduction_of(call) == kNone ? shape : Shape{}}};
}

struct CrossEntropyKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>&self = k.in("self"), &target = k.in("target");
    const DType dtype = self.dtype();
    const int dim = class_dim(k.call());
    const std::int64_t classes = self.shape()[static_cast<std::size_t>(dim)];
    const std::int64_t ignored = k.call().integer("ignore_index");
    const Tensor<T> weight = k.has("weight") ? k.in("weight").contiguous() : Tensor<T>();
    const Tensor<T> loss(TensorType{dtype, target.shape()});
    const std::vector<std::int64_t> targets =
        positions(target.shape(), target.strides(), target.offset());
    Sum<T> weights;
    std::vector<T> line_values(static_cast<std::size_t>(classes));
    for_each_line(
        dim,
        [&](const Line<1>& line) {
          const std::int64_t at = targets[static_cast<std::size_t>(line.index)];
          if (value_of(target.integer(at)) == ignored) return;
          const Index index = index_at(target, at, classes);
          for (std::int64_t i = 0; i < classes; ++i) {
            line_values[static_cast<std::size_t>(i)] = self.real(line.at[0] + i * line.step[0]);
          }
          const T w = weight.defined() ? weight.real(index.at) : widen<T>(1);
          weights.add(w);
          const T value = -step(log_softmax_at(line_values, index.at), dtype) * w;
          loss.real(line.index) = marked(step(value, dtype), index.marks);
        },
        self);
    reduce_into(k, loss, weights.total());
  }

 private:
  template <class T>
  static T log_softmax_at(const std::vector<T>& x, std::int64_t at) {
    const T largest = shift_of(x);
    Sum<T> sum;
    for (const T& value : x) sum.add(exp(value - largest));
    return x[static_cast<std::size_t>(at)] - largest - log(sum.total());
  }

  // ATen's kernel adds half losses up in the half type, in cascades of 16 and more.
  template <class T>
  static void reduce_into(Kernel<T>& k, const Tensor<T>& loss, const T& weights) {
    const std::int64_t reduction = reduction_of(k.call());
    if (reduction == kNone) {
      k.out().assign(loss);
      return;
    }
    Sum<T> sum;
    double sizes = 0;
    for (std::int64_t i = 0; i < loss.size(); ++i) {
      sum.add(loss.real(i));
      sizes += std::fabs(narrow(loss.real(i)));
    }
    T total = sum.total();
    const DType dtype = loss.dtype();
    if constexpr (kIsRunning<T>) {
      if (opmath(dtype) != dtype && internal::is_finite(total.v)) {
        const double steps = static_cast<double>(std::min<std::int64_t>(loss.size(), 64));
        const bool bound = ErrorModel::current().mode == ErrorMode::kBound;
        const double count =
            bound ? steps : std::sqrt(steps / (1 + static_cast<double>(loss.size())));
        total.e = internal::add_errors(total.e, count * float_format(dtype).unit_roundoff * sizes,
                                       ErrorModel::current());
      }
    }
    k.out().real(0) = reduction == kMean ? step(total, dtype) / step(weights, dtype) : total;
  }
};

// The gradient of log_softmax is -g w / sum(w) at each position's class, else 0.
void derive_cross_entropy(Backward& b) {
  if (!b.needs("self")) return;
  const TensorType type = b.call().tensor("self");
  const Dim dim(class_dim(b.call()));
  const Expr target = input(b, "target");
  const Expr ignored = compare("eq", target, Argument(Scalar{b.call().integer("ignore_index")}));
  const Expr safe = masked_fill(target, ignored, 0);
  Expr weight = cast(unary("logical_not", ignored), type.dtype);
  if (b.call().given("weight")) {
    const Expr flat = emit(b, "aten.index.Tensor",
                           {{"self", b.input("weight")}, {"indices", std::vector<Ref>{safe.ref}}});
    weight = masked_fill(flat, ignored, 0);
  }
  Expr g = gradient(b) * weight;
  if (reduction_of(b.call()) == kMean) {
    std::vector<int> all(weight.type().shape.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    g = g / sum(weight, all, false);
  }
  const auto with_classes = [&](const Expr& x) {
    return emit(b, "aten.unsqueeze.default", {{"self", x.ref}, {"dim", dim}});
  };
  const Expr at_class = emit(b, "aten.scatter_add.default",
                             {{"self", zeros_of(b, type)},
                              {"dim", dim},
                              {"index", with_classes(safe).ref},
                              {"src", with_classes(-g).ref}});
  const Expr logs = emit(b, "aten.log_softmax.int", {{"self", b.input("self")}, {"dim", dim}});
  give(b, "self",
       emit(b, "aten._log_softmax_backward_data.default",
            {{"grad_output", at_class.ref},
             {"output", logs.ref},
             {"dim", dim},
             {"input_dtype", type.dtype}}));
}

// ---- random calls ---------------------------------------------------------------------------

void draw_reduction_kind(Draw& d, std::vector<NamedArgument>& args) {
  if (d.random().chance(0.4)) {
    args.push_back({"reduction", Dim(d.random().chance(0.5) ? kNone : kSum)});
  }
}

bool draw_pair(Draw& d) {
  const Ref self = d.operand({.types = Want::Types::kFloating});
  TensorType type = d.type(self);
  if (d.random().chance(0.05)) type.dtype = d.floating_dtype();
  std::vector<NamedArgument> args = {{"self", self},
                                     {"target", d.operand_of(type.dtype, type.shape)}};
  draw_reduction_kind(d, args);
  return d.call(std::move(args));
}

bool draw_logits_entropy(Draw& d) {
  const Ref self = d.operand({.types = Want::Types::kFloating});
  const TensorType type = d.type(self);
  Fill fill;
  fill.kind = Fill::Kind::kUniform;
  fill.seed = d.random().bits();
  fill.grid = type.dtype;
  std::vector<NamedArgument> args = {{"self", self},
                                     {"target", d.new_input(type.dtype, type.shape, fill)}};
  draw_reduction_kind(d, args);
  return d.call(std::move(args));
}

bool draw_cross_entropy(Draw& d) {
  const Ref self =
      d.operand({.types = Want::Types::kFloating,
                 .min_rank = d.random().chance(0.9) ? 2 : 1,
                 .max_rank = 4,
                 .also = [](const TensorType& type) { return element_count(type.shape) > 0; }});
  const TensorType type = d.type(self);
  Shape shape = type.shape;
  const std::size_t dim = shape.size() == 1 ? 0 : 1;
  const std::int64_t classes = shape[dim];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  Fill fill;
  fill.kind = Fill::Kind::kInteger;
  fill.seed = d.random().bits();
  fill.high = classes - 1;
  std::vector<NamedArgument> args = {{"self", self}};
  if (d.random().chance(0.4)) {
    fill.special_rate = 12000;
    fill.values = {-100};
  }
  args.push_back({"target", d.new_input(DType::kInt64, shape, fill)});
  if (d.random().chance(0.2)) {
    // From integers: eager refuses weights that require a gradient.
    Fill whole;
    whole.kind = Fill::Kind::kInteger;
    whole.seed = d.random().bits();
    whole.high = 3;
    const Ref weights = d.new_input(DType::kInt64, {classes}, whole);
    args.push_back({"weight", d.also("aten.to.dtype", {{"self", weights}, {"dtype", type.dtype}})});
  }
  draw_reduction_kind(d, args);
  return d.call(std::move(args));
}

constexpr Numerics kWithExp{.function_ulps = 6};

constexpr OpRow kRows[] = {
    {.schema = "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, "
               "int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
     .python = "torch.nn.functional.cross_entropy({self}, {target}, weight={weight}, "
               "ignore_index={ignore_index}, reduction={reduction}, "
               "label_smoothing={label_smoothing})",
     .infer = infer_cross_entropy,
     .kernels = &kKernels<CrossEntropyKernel>,
     .derivative = derive_cross_entropy,
     .draw = draw_cross_entropy,
     .numerics = kWithExp},
    {.schema = "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     .python = "torch.nn.functional.mse_loss({self}, {target}, reduction={reduction})",
     .infer = infer_pair,
     .kernels = &kKernels<PairKernel<SquaredError>>,
     .derivative = derive_mse,
     .draw = draw_pair,
     .weight = 0.7},
    {.schema = "aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     .python = "torch.nn.functional.l1_loss({self}, {target}, reduction={reduction})",
     .infer = infer_pair,
     .kernels = &kKernels<PairKernel<AbsoluteError>>,
     .derivative = derive_l1,
     .draw = draw_pair,
     .weight = 0.5},
    {.schema = "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, "
               "Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
     .python = "torch.nn.functional.binary_cross_entropy_with_logits({self}, {target}, "
               "reduction={reduction})",
     .infer = infer_logits_entropy,
     .kernels = &kKernels<PairKernel<LogitsEntropy>>,
     .derivative = derive_logits_entropy,
     .draw = draw_logits_entropy,
     .weight = 0.5,
     .numerics = kWithExp},
};

}  // namespace

std::span<const OpRow> loss_rows() { return kRows; }

}  // namespace ulpfuzz
