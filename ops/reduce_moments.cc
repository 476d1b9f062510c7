#include <array>
#include <cmath>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/reduce.h"

// Variances, norms and logsumexp.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, 1.0, -1.0, 1e20, 3e22, 1e-20, 88.0, 104.0, -104.0, kInf, -kInf};
// Eager takes its steps (exp, sum, log) one by one, each rounded to the nominal dtype.
constexpr Numerics kComposite{.function_ulps = 4, .narrow_accumulator = true};

bool keepdim(Backward& b) {
  return b.call().op().schema.find("keepdim") != nullptr && b.call().boolean("keepdim");
}

// ---- variance -------------------------------------------------------------------------------

double correction_of(const Call& call) {
  return call.given("correction") ? call.scalar("correction").as_double() : 1;
}

// Two passes; the error of the mean goes into every difference, which covers Welford's updates too.
// With no degrees of freedom left it is a division by zero, as in ATen.
template <class T, class At>
T variance(const Tensor<T>& x, const At& at, std::size_t n, double correction) {
  const double count = static_cast<double>(n);
  Sum<T> sum;
  for (std::size_t j = 0; j < n; ++j) sum.add(x.real(at(j)));
  sum.assume_rounded();
  const T mean = sum.total() / widen<T>(count);
  Sum<T> squares;
  for (std::size_t j = 0; j < n; ++j) {
    const T difference = x.real(at(j)) - mean;
    squares.add_product(difference, difference);
  }
  squares.assume_rounded();
  return squares.total() / constant<T>(std::max(0.0, count - correction));
}

template <bool kRoot>
struct VarKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& x = k.in("self");
    const double correction = correction_of(k.call());
    reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
      const T v = variance(x, at, n, correction);
      k.out().real(o) = kRoot ? root_of_squares(v) : v;
    });
  }
};

std::vector<TensorType> infer_var(const Call& call) {
  require_floating(call, "self");
  return {reduced(call, call.tensor("self").dtype)};
}

Expr mean_of(const Expr& x, const std::vector<int>& dims) {
  if (dims.empty()) return x;
  return emit(*x.builder, "aten.mean.dim",
              {{"self", x.ref}, {"dim", as_dims(dims)}, {"keepdim", true}});
}

// var_backward for a gradient `g` of the variance.
void give_var(Backward& b, const Expr& g) {
  const Expr x = input(b, "self");
  const Shape& shape = x.type().shape;
  const std::vector<int> dims = reduced_dims(b.call());
  double freedom = -correction_of(b.call());
  double count = 1;
  for (const int dim : dims) count *= static_cast<double>(shape[static_cast<std::size_t>(dim)]);
  freedom += count;
  const Expr mean = mean_of(x, dims);
  const Expr upstream = unreduced(g, dims, shape.size(), keepdim(b));
  // ATen looks after the degrees of freedom only where it reduces everything by default.
  if (freedom > 0 || (b.call().given("dim") && !shape.empty())) {
    return give(b, "self", upstream * (2 / freedom) * (x - mean));
  }
  const Expr endless =
      emit(b, "aten.full_like.default", {{"self", x.ref}, {"fill_value", Scalar{kInf}}});
  give(b, "self", upstream * masked_fill(endless, compare("eq", x, mean), NAN));
}

void var_backward(Backward& b) { give_var(b, gradient(b)); }

void std_backward(Backward& b) {
  const Expr y = output(b);
  give_var(b, masked_fill(gradient(b) / (y * 2.0), compare("eq", y, 0.0), 0));
}

bool draw_var(Draw& d) {
  const Ref self = d.operand(want_floating(1));
  std::vector<NamedArgument> args{{"self", self}};
  if (d.random().chance(0.7)) args.push_back({"dim", d.some_dims(self)});
  if (d.random().chance(0.5)) args.push_back({"correction", Scalar{d.random().integer(0, 2)}});
  if (d.random().chance(0.4)) args.push_back({"keepdim", true});
  return d.call(std::move(args));
}

// ---- logsumexp ------------------------------------------------------------------------------

// The maximum is taken off first; any number near it would do, so its own error does not count.
template <class T, class At>
T log_sum_exp(const Tensor<T>& x, const At& at, std::size_t n) {
  double largest = -kInf;
  for (std::size_t j = 0; j < n; ++j) largest = std::fmax(largest, narrow(x.real(at(j))));
  const T shift = widen<T>(std::isinf(largest) ? 0 : largest);
  Sum<T> sum;
  for (std::size_t j = 0; j < n; ++j) sum.add(exp(x.real(at(j)) - shift));
  return log(sum.total()) + shift;
}

struct LogsumexpKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> x = as_real(k.in("self")).tensor;
    reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
      k.out().real(o) = log_sum_exp(x, at, n);
    });
  }
};

std::vector<TensorType> infer_logsumexp(const Call& call) {
  return {reduced(call, float_of(call.tensor("self").dtype))};
}

void logsumexp_backward(Backward& b) {
  const Expr x = input(b, "self");
  const std::vector<int> dims = reduced_dims(b.call());
  const std::size_t rank = x.type().shape.size();
  const Expr g = unreduced(gradient(b), dims, rank, keepdim(b));
  const Expr y = unreduced(output(b), dims, rank, keepdim(b));
  give(b, "self", g * unary("exp", x - y));
}

// ---- norms ----------------------------------------------------------------------------------

template <class T, class At>
T norm(const Tensor<T>& x, const At& at, std::size_t n, double order) {
  if (std::isinf(order)) {
    T best = abs(x.real(at(0)));
    for (std::size_t j = 1; j < n; ++j) {
      const T size = abs(x.real(at(j)));
      best = order > 0 ? max_of(best, size) : min_of(best, size);
    }
    return best;
  }
  const T zero = widen<T>(0), one = widen<T>(1), power = constant<T>(order);
  Sum<T> sum;
  for (std::size_t j = 0; j < n; ++j) {
    const T& element = x.real(at(j));
    if (order == 0) {
      sum.add(select(equal(element, zero), zero, one));
    } else if (order == 1) {
      sum.add(abs(element));
    } else if (order == 2) {
      sum.add_product(element, element);
    } else {
      sum.add(pow(abs(element), power));
    }
  }
  if (order == 0 || order == 1) return sum.total();
  if (order == 2) return root_of_squares(sum.total());
  return pow(sum.total(), one / power);
}

struct VectorNormKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& x = k.in("self");
    const double order = k.call().scalar("ord").as_double();
    reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
      k.out().real(o) = norm(x, at, n, order);
    });
  }
};

std::vector<TensorType> infer_vector_norm(const Call& call) {
  require_floating(call, "self");
  const DType self = call.tensor("self").dtype;
  const DType dtype = call.given("dtype") ? call.dtype("dtype") : self;
  if (!is_floating(dtype) || promote(self, dtype) != dtype) {
    call.fail("dtype must be floating and no narrower than self's");
  }
  const double order = call.scalar("ord").as_double();
  if (order < 0 || std::isinf(order)) infer_reduction(call);  // refuses empty dimensions
  return {reduced(call, dtype)};
}

// linalg_vector_norm_backward: x / norm and its like, 0 where the norm is 0.
void vector_norm_backward(Backward& b) {
  const Expr x = input(b, "self");
  const std::vector<int> dims = reduced_dims(b.call());
  const std::size_t rank = x.type().shape.size();
  const Expr g = unreduced(gradient(b), dims, rank, keepdim(b));
  const Expr y = unreduced(output(b), dims, rank, keepdim(b));
  const double order = b.call().scalar("ord").as_double();
  const auto at_zero = [](const Expr& e, const Expr& of) {
    return masked_fill(e, compare("eq", of, 0.0), 0);
  };
  if (order == 0) return;  // ATen gives none
  const Expr sign = unary("sgn", x), size = unary("abs", x);
  if (order == 1) return give(b, "self", sign * g);
  if (order == 2) return give(b, "self", g * at_zero(x / y, y));
  if (std::isinf(order)) {
    const Expr nan = logical("and", unary("isnan", x), unary("isnan", y));
    const Expr best = logical("or", compare("eq", size, y), nan);
    return give(b, "self", sign * (g / sum(best, dims, true) * best));
  }
  if (order < 1) {
    give(b, "self", at_zero(sign * pow(size, order - 1), x) * g * pow(y, 1 - order));
  } else {
    const Expr scaled = order < 2 ? sign * pow(size, order - 1) : x * pow(size, order - 2);
    give(b, "self", scaled * at_zero(g / pow(y, order - 1), y));
  }
}

bool draw_vector_norm(Draw& d) {
  static constexpr std::array kOrders{2.0, 2.0, 1.0, kInf, -kInf, 0.0, 3.0, 0.5, 1.5};
  const Ref self = d.operand(want_floating(1));
  std::vector<NamedArgument> args{{"self", self}};
  if (d.random().chance(0.7)) args.push_back({"ord", Scalar{d.random().pick(kOrders)}});
  if (d.random().chance(0.7)) args.push_back({"dim", d.some_dims(self)});
  if (d.random().chance(0.4)) args.push_back({"keepdim", true});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
               "bool keepdim=False) -> Tensor",
     .python = "torch.var",
     .infer = infer_var,
     .kernels = &kKernels<VarKernel<false>>,
     .derivative = var_backward,
     .draw = draw_var,
     .edges = kEdges},
    {.schema = "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
               "bool keepdim=False) -> Tensor",
     .python = "torch.std",
     .infer = infer_var,
     .kernels = &kKernels<VarKernel<true>>,
     .derivative = std_backward,
     .draw = draw_var,
     .weight = 0.8,
     .edges = kEdges},
    {.schema = "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     .python = "torch.logsumexp",
     .infer = infer_logsumexp,
     .kernels = &kKernels<LogsumexpKernel>,
     .derivative = logsumexp_backward,
     .draw = draw_reduction_floating,
     .weight = 0.8,
     .numerics = kComposite,
     .edges = kEdges},
    {.schema = "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, "
               "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .python = "torch.linalg.vector_norm",
     .infer = infer_vector_norm,
     .kernels = &kKernels<VectorNormKernel>,
     .derivative = vector_norm_backward,
     .draw = draw_vector_norm,
     .weight = 0.8,
     .numerics = {.function_ulps = 8},  // powers, other than for the usual orders
     .edges = kEdges},
};

}  // namespace

std::span<const OpRow> reduce_moments_rows() { return kRows; }

}  // namespace ulpfuzz
