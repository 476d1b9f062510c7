#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// Normalisation of rows: layer_norm, rms_norm, group_norm.
namespace ulpfuzz {
namespace {

// ---- kernels --------------------------------------------------------------------------------

template <class T>
T mean_of(const T* x, std::int64_t n) {
  Sum<T> sum;
  for (std::int64_t i = 0; i < n; ++i) sum.add(x[i]);
  sum.assume_rounded();
  return sum.total() / static_cast<double>(n);
}

template <class T>
T mean_square(const T* x, std::int64_t n) {
  Sum<T> sum;
  for (std::int64_t i = 0; i < n; ++i) sum.add_product(x[i], x[i]);
  return sum.total() / static_cast<double>(n);
}

// weight and bias by an index, where they are given.
template <class T>
class Affine {
 public:
  explicit Affine(Kernel<T>& k) {
    if (k.has("weight")) weight_ = k.in("weight").contiguous();
    if (k.call().op().schema.find("bias") != nullptr && k.has("bias")) {
      bias_ = k.in("bias").contiguous();
    }
  }
  T weight(std::int64_t at) const { return weight_.defined() ? weight_.real(at) : widen<T>(1); }
  T bias(std::int64_t at) const { return bias_.defined() ? bias_.real(at) : widen<T>(0); }
  T operator()(T x, std::int64_t at) const {
    if (weight_.defined()) x = x * weight_.real(at);
    return bias_.defined() ? x + bias_.real(at) : x;
  }

 private:
  Tensor<T> weight_, bias_;
};

// x[i] = (x[i] - mean) / sqrt(variance + eps) * weight + bias. Two passes; a system may also take
// E[x^2] - mean^2, whose error the bound includes, and x * a + (bias - mean * a) for a = scale *
// weight, as ATen's kernels do. `channel(i)` is the index of element i's weight and bias.
template <class T, class Channel>
void standardise(T* x, std::int64_t n, double eps, const Affine<T>& affine, Channel channel) {
  const T mean = mean_of(x, n);
  T one_pass{};
  if constexpr (kIsRunning<T>) one_pass = mean_square(x, n) - mean * mean;
  std::vector<T> centred(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) centred[static_cast<std::size_t>(i)] = x[i] - mean;
  T variance = mean_square(centred.data(), n);
  if constexpr (kIsRunning<T>) {
    const bool bound = ErrorModel::current().mode == ErrorMode::kBound;
    if (bound) variance.e = std::max(variance.e, one_pass.e);
  }
  const T scale = rsqrt(variance + eps);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = channel(i);
    T result = affine(centred[static_cast<std::size_t>(i)] * scale, c);
    if constexpr (kIsRunning<T>) {
      if (internal::is_finite(result.v)) {
        const T a = scale * affine.weight(c);
        result.e = std::max({result.e, (x[i] * a + (affine.bias(c) - mean * a)).e,
                             affine(x[i] * scale - mean * scale, c).e});
      }
    }
    x[i] = result;
  }
}

template <class T>
void divide_by_rms(T* x, std::int64_t n, double eps) {
  const T scale = rsqrt(mean_square(x, n) + eps);
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] * scale;
}

double eps_of(const Call& call) {
  if (call.op().name() != "aten.rms_norm.default" || call.given("eps")) return call.floating("eps");
  // rms_norm's default is that of the type it computes in (torch/_decomp, _fused_rms_norm).
  const bool wide = call.tensor("input").dtype == DType::kFloat64;
  return wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

template <bool kRms>
struct RowNormKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    Tensor<T>& out = k.out();
    out.assign(k.in("input"));
    const std::int64_t n = element_count(k.call().integers("normalized_shape"));
    const double eps = eps_of(k.call());
    const Affine<T> affine(k);
    for (std::int64_t row = 0; row < out.size(); row += n) {
      T* x = out.reals() + row;
      if (kRms) {
        divide_by_rms(x, n, eps);
        for (std::int64_t i = 0; i < n; ++i) x[i] = affine(x[i], i);
      } else {
        standardise(x, n, eps, affine, [](std::int64_t i) { return i; });
      }
    }
  }
};

struct GroupNormKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    Tensor<T>& out = k.out();
    out.assign(k.in("input"));
    if (out.size() == 0) return;
    const std::int64_t samples = out.shape()[0], channels = out.shape()[1];
    const std::int64_t inner = out.size() / samples / channels;
    const std::int64_t n = channels / k.call().integer("num_groups") * inner;
    const double eps = eps_of(k.call());
    const Affine<T> affine(k);
    for (std::int64_t row = 0; row < out.size(); row += n) {
      T* x = out.reals() + row;
      standardise(x, n, eps, affine, [&](std::int64_t i) { return (row + i) / inner % channels; });
    }
  }
};

// ---- type rules -----------------------------------------------------------------------------

// ATen's CPU kernels take parameters of the input's dtype, or float32 ones for half inputs.
void require_parameter_dtypes(const Call& call) {
  const DType dtype = call.tensor("input").dtype;
  const bool half = opmath(dtype) != dtype;
  DType parameters = dtype;
  if (half && call.given("weight") && call.tensor("weight").dtype == DType::kFloat32) {
    parameters = DType::kFloat32;
  }
  for (const std::string_view arg : {"weight", "bias"}) {
    if (call.given(arg)) require_dtype(call, arg, parameters);
  }
}

void require_normalized_shape(const Call& call) {
  const Shape& input = call.tensor("input").shape;
  const std::vector<std::int64_t> shape = call.integers("normalized_shape");
  if (shape.empty() || shape.size() > input.size() ||
      !std::equal(shape.rbegin(), shape.rend(), input.rbegin())) {
    call.fail("normalized_shape must be the input's last sizes");
  }
  for (const std::string_view arg : {"weight", "bias"}) {
    if (call.op().schema.find(arg) == nullptr || !call.given(arg)) continue;
    if (call.tensor(arg).shape != shape) call.fail(std::string(arg) + " must have that shape");
  }
}

std::vector<TensorType> infer_layer_norm(const Call& call) {
  require_floating(call, "input");
  require_normalized_shape(call);
  require_parameter_dtypes(call);
  return {call.tensor("input")};
}

std::vector<TensorType> infer_rms_norm(const Call& call) {
  require_floating(call, "input");
  require_normalized_shape(call);
  if (call.given("weight")) require_floating(call, "weight");
  return {call.tensor("input")};
}

std::vector<TensorType> infer_group_norm(const Call& call) {
  require_floating(call, "input");
  const Shape& input = call.tensor("input").shape;
  const std::int64_t groups = call.integer("num_groups");
  if (input.size() < 2) call.fail("input needs at least two dimensions");
  if (groups <= 0 || input[1] % groups != 0) call.fail("num_groups must divide the channels");
  if (element_count(input) == 0) call.fail("an empty input is not supported");
  if (element_count(input) == groups) call.fail("a group needs more than one element");
  for (const std::string_view arg : {"weight", "bias"}) {
    if (call.given(arg) && call.tensor(arg).shape != Shape{input[1]}) {
      call.fail(std::string(arg) + " must have one element a channel");
    }
  }
  require_parameter_dtypes(call);
  return {call.tensor("input")};
}

// ---- derivatives: computed in opmath, as the systems' kernels do ----------------------------

Expr as_shape(const Expr& x, const Shape& shape) {
  return {x.builder, reshaped(*x.builder, x.ref, shape)};
}
Expr mean_last(const Expr& x) {
  const int last = static_cast<int>(x.type().shape.size()) - 1;
  return sum(x, {last}, true) / static_cast<double>(x.type().shape.back());
}
Expr reciprocal_root(const Expr& square, double eps) { return unary("rsqrt", square + eps); }

// Two formulas of one value: a, with the errors of both.
Expr either(const Expr& a, const Expr& b) { return a + (b - a); }

// The dtype in which ATen's CPU kernels keep mean and scale for the backward pass: that of the
// parameters, which is half where all is.
DType kept_dtype(const Call& call) {
  const bool mixed =
      call.given("weight") && call.tensor("weight").dtype != call.tensor("input").dtype;
  return mixed ? call.tensor("weight").dtype : call.tensor("input").dtype;
}

// x (rows, n) standardised, with mean and scale as they are kept.
struct Standardised {
  Expr x, mean, scale, result;
};
Standardised standardised(const Expr& x, double eps, DType kept) {
  const DType wide = x.type().dtype;
  const Expr mean = mean_last(x), centred = x - mean;
  const Expr scale = reciprocal_root(mean_last(centred * centred), eps);
  const Expr mean_kept = cast(cast(mean, kept), wide), scale_kept = cast(cast(scale, kept), wide);
  return {x, mean_kept, scale_kept, (x - mean_kept) * scale_kept};
}

// The standardised rows as the gradients of weights see them: also as x * scale - mean * scale.
Expr result_of(const Standardised& s) { return either(s.result, s.x * s.scale - s.mean * s.scale); }

// x (rows, n) summed to (n) in the input's type, whatever that of the parameters: index_add may add
// up narrowly, as ATen's buffers do.
Expr sum_of_rows(const Expr& x, DType kept) {
  if (opmath(kept) == kept) return sum(x, {0}, false);
  Backward& b = *x.builder;
  const Shape& shape = x.type().shape;
  const Expr zero = emit(b, "aten.full.default",
                         {{"size", std::vector<Dim>{Dim(shape[0])}},
                          {"fill_value", Scalar{std::int64_t{0}}},
                          {"dtype", DType::kInt64}});
  const Expr added = emit(b, "aten.index_add.default",
                          {{"self", zeros_of(b, {kept, {1, shape[1]}})},
                           {"dim", Dim(0)},
                           {"index", zero.ref},
                           {"source", cast(x, kept).ref}});
  return as_shape(added, {shape[1]});
}

// The gradient of rows that were standardised, of the gradient g of the result: as in the paper
// (Ba, Kiros, Hinton 2016), and as a * g + b * x + c of ATen's layer_norm_kernel.cpp.
Expr through_standardise(const Standardised& s, const Expr& g) {
  const Expr mean_g = mean_last(g);
  const Expr direct = s.scale * (g - mean_g - s.result * mean_last(g * s.result));
  const Expr b = (mean_g * s.mean - mean_last(g * s.x)) * (s.scale * s.scale * s.scale);
  const Expr c = -(b * s.mean) - mean_g * s.scale;
  return either(direct, s.scale * g + b * s.x + c);
}

void derive_layer_norm(Backward& b) {
  const std::int64_t n = element_count(b.call().integers("normalized_shape"));
  const Shape shape = b.call().tensor("input").shape;
  if (n == 0 || element_count(shape) == 0) return;
  const Shape rows{element_count(shape) / n, n};
  const DType wide = opmath(b.call().tensor("input").dtype);
  const Expr g = as_shape(cast(gradient(b), wide), rows);
  const Expr x = as_shape(cast(input(b, "input"), wide), rows);
  const DType kept = kept_dtype(b.call());
  const Standardised s = standardised(x, eps_of(b.call()), kept);
  const bool weighted = b.call().given("weight");
  const Shape own(b.call().integers("normalized_shape"));
  if (b.needs("input")) {
    const Expr gw = weighted ? g * as_shape(cast(input(b, "weight"), wide), {1, n}) : g;
    give(b, "input", as_shape(through_standardise(s, gw), shape));
  }
  if (weighted && b.needs("weight"))
    give(b, "weight", as_shape(sum_of_rows(g * result_of(s), b.call().tensor("input").dtype), own));
  if (b.call().given("bias") && b.needs("bias")) {
    give(b, "bias", as_shape(sum_of_rows(g, b.call().tensor("input").dtype), own));
  }
}

void derive_rms_norm(Backward& b) {
  const std::int64_t n = element_count(b.call().integers("normalized_shape"));
  const Shape shape = b.call().tensor("input").shape;
  if (n == 0 || element_count(shape) == 0) return;
  const Shape rows{element_count(shape) / n, n};
  const DType wide = opmath(b.call().tensor("input").dtype);
  const Expr g = as_shape(cast(gradient(b), wide), rows);
  const Expr x = as_shape(cast(input(b, "input"), wide), rows);
  const Expr scale = reciprocal_root(mean_last(x * x), eps_of(b.call()));
  const Expr normal = x * scale;
  const bool weighted = b.call().given("weight");
  if (b.needs("input")) {
    const Expr gw = weighted ? g * as_shape(cast(input(b, "weight"), wide), {1, n}) : g;
    // ATen differentiates x * rsqrt(mean(x^2) + eps) step by step.
    const Expr by_root = x * (scale * scale * scale * mean_last(gw * x));
    const Expr direct = scale * (gw - normal * mean_last(gw * normal));
    give(b, "input", as_shape(either(direct, scale * gw - by_root), shape));
  }
  if (weighted && b.needs("weight")) {
    const Shape own(b.call().integers("normalized_shape"));
    give(b, "weight", as_shape(sum(g * normal, {0}, false), own));
  }
}

void derive_group_norm(Backward& b) {
  const Shape shape = b.call().tensor("input").shape;
  const std::int64_t samples = shape[0], channels = shape[1];
  const std::int64_t inner = element_count(shape) / samples / channels;
  const std::int64_t groups = b.call().integer("num_groups");
  const Shape rows{samples * groups, channels / groups * inner};
  const Shape by_channel{samples, channels, inner};
  const DType wide = opmath(b.call().tensor("input").dtype);
  const Expr g = as_shape(cast(gradient(b), wide), by_channel);
  const Expr x = as_shape(cast(input(b, "input"), wide), rows);
  const DType kept = kept_dtype(b.call());
  const Standardised s = standardised(x, eps_of(b.call()), kept);
  const bool weighted = b.call().given("weight");
  if (b.needs("input")) {
    const Expr gw = weighted ? g * as_shape(cast(input(b, "weight"), wide), {1, channels, 1}) : g;
    give(b, "input", as_shape(through_standardise(s, as_shape(gw, rows)), shape));
  }
  if (weighted && b.needs("weight")) {
    give(b, "weight",
         sum_of_rows(sum(g * as_shape(result_of(s), by_channel), {2}, false),
                     b.call().tensor("input").dtype));
  }
  if (b.call().given("bias") && b.needs("bias")) {
    give(b, "bias", sum_of_rows(sum(g, {2}, false), b.call().tensor("input").dtype));
  }
}

// ---- random calls ---------------------------------------------------------------------------

Ref draw_input(Draw& d, int min_rank) {
  return d.operand({.types = Want::Types::kFloating,
                    .min_rank = min_rank,
                    .also = [](const auto& t) { return element_count(t.shape) > 0; }});
}

void draw_parameters(Draw& d, DType dtype, const Shape& shape, bool bias,
                     std::vector<NamedArgument>& args) {
  if (!d.random().chance(0.7)) return;
  const bool half = opmath(dtype) != dtype;
  const DType parameters = half && d.random().chance(0.2) ? DType::kFloat32 : dtype;
  args.push_back({"weight", d.operand_of(parameters, shape)});
  if (bias && d.random().chance(0.7)) args.push_back({"bias", d.operand_of(parameters, shape)});
}

void draw_eps(Draw& d, double share, std::vector<NamedArgument>& args) {
  static constexpr std::array kEps{1e-5, 1e-6, 1e-12, 1e-3};
  if (d.random().chance(share)) args.push_back({"eps", d.random().pick(kEps)});
}

template <bool kRms>
bool draw_row_norm(Draw& d) {
  const Ref input = draw_input(d, 1);
  const TensorType type = d.type(input);
  const auto rank = static_cast<std::int64_t>(type.shape.size());
  const std::int64_t dims = d.random().chance(0.8) ? 1 : d.random().integer(1, rank);
  const Shape shape(type.shape.end() - dims, type.shape.end());
  std::vector<NamedArgument> args = {{"input", input}, {"normalized_shape", as_dims(shape)}};
  draw_parameters(d, type.dtype, shape, !kRms, args);
  draw_eps(d, kRms ? 0.7 : 0.3, args);
  return d.call(std::move(args));
}

bool draw_group_norm(Draw& d) {
  const Ref input = draw_input(d, 2);
  const TensorType type = d.type(input);
  const std::int64_t channels = type.shape[1];
  std::vector<std::int64_t> divisors;
  for (std::int64_t i = 1; i <= channels; ++i) {
    const bool alone = element_count(type.shape) == type.shape[0] * i;  // groups of one element
    if (channels % i == 0 && !alone) divisors.push_back(i);
  }
  if (divisors.empty()) return false;
  std::vector<NamedArgument> args = {{"input", input},
                                     {"num_groups", Dim(d.random().pick(divisors))}};
  draw_parameters(d, type.dtype, {channels}, true, args);
  draw_eps(d, 0.3, args);
  return d.call(std::move(args));
}

constexpr Numerics kNorm{.function_ulps = 4};

constexpr OpRow kRows[] = {
    {.schema = "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
               "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
     .python = "torch.nn.functional.layer_norm",
     .infer = infer_layer_norm,
     .kernels = &kKernels<RowNormKernel<false>>,
     .derivative = derive_layer_norm,
     .draw = draw_row_norm<false>,
     .numerics = kNorm},
    {.schema = "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
               "float? eps=None) -> Tensor",
     .python = "torch.nn.functional.rms_norm",
     .infer = infer_rms_norm,
     .kernels = &kKernels<RowNormKernel<true>>,
     .derivative = derive_rms_norm,
     .draw = draw_row_norm<true>,
     .numerics = kNorm},
    {.schema = "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, "
               "Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
     .python = "torch.nn.functional.group_norm",
     .infer = infer_group_norm,
     .kernels = &kKernels<GroupNormKernel>,
     .derivative = derive_group_norm,
     .draw = draw_group_norm,
     .weight = 0.6,
     .numerics = kNorm},
};

}  // namespace

std::span<const OpRow> norm_rows() { return kRows; }

}  // namespace ulpfuzz
