#include <cmath>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/reduce.h"

// Sums, means and products, of dimensions and along them.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, 1.0, -1.0, 1e20, -1e20, 3e38, 1e-8, kInf, NAN};

// ---- sum and mean ---------------------------------------------------------------------------

template <class T>
void sum_into(Kernel<T>& k, const Tensor<T>& x) {
  const Tensor<T>& out = k.out();
  reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
    if (out.integral()) {
      std::int64_t total = 0;
      int marks = 0;
      for (std::size_t j = 0; j < n; ++j) {
        total = wrap_add(total, value_of(x.integer(at(j))));
        marks |= marks_of(x.integer(at(j)));
      }
      out.integer(o) = make_int<T>(wrap_to(out.dtype(), total), marks);
    } else {
      Sum<T> total;
      for (std::size_t j = 0; j < n; ++j) total.add(x.real(at(j)));
      out.real(o) = total.total();
    }
  });
}

struct SumKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    sum_into(k, converted(k.in("self"), k.out().dtype()));
  }
};

struct MeanKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    sum_into(k, converted(k.in("self"), k.out().dtype()));
    const std::int64_t results = std::max<std::int64_t>(k.out().size(), 1);
    const T count = widen<T>(static_cast<double>(k.in("self").size() / results));
    map_real(
        k.out(), [&](const T& total) { return total / count; }, k.out());
  }
};

std::vector<TensorType> infer_mean(const Call& call) {
  const std::vector<TensorType> result = infer_sum(call);
  const DType dtype = call.given("dtype") ? call.dtype("dtype") : call.tensor("self").dtype;
  if (!is_floating(dtype)) call.fail("mean needs a floating dtype");
  return {{dtype, result[0].shape}};
}

// A result's gradient in the shape of the operand, over the dimensions that were reduced.
Expr spread(Backward& b, const Expr& g) {
  const Shape& shape = b.type(b.input("self")).shape;
  const bool keepdim =
      b.call().op().schema.find("keepdim") != nullptr && b.call().boolean("keepdim");
  return expand(unreduced(g, reduced_dims(b.call()), shape.size(), keepdim), shape);
}

double terms(Backward& b) {
  double count = 1;
  for (const int dim : reduced_dims(b.call())) {
    count *= static_cast<double>(b.type(b.input("self")).shape[static_cast<std::size_t>(dim)]);
  }
  return count;
}

void sum_backward(Backward& b) { give(b, "self", spread(b, gradient(b))); }
void mean_backward(Backward& b) { give(b, "self", spread(b, gradient(b)) / terms(b)); }

// ---- products -------------------------------------------------------------------------------

// A product of all the large factors, or of all the small ones, is what some order of
// multiplication comes to: when one leaves the range of the opmath type, the result may be
// infinite, zero or NaN.
class OrderFreeRange {
 public:
  void add(double factor) {
    const double size = std::fabs(factor);
    if (size > 1 && size < kInf) large_ += std::log2(size);
    if (size < 1 && size > 0) small_ += std::log2(size);
  }
  double judged(double product) const { return product; }
  template <class B>
  Running<B> judged(Running<B> product) const {
    const ErrorModel& model = ErrorModel::current();
    const bool overflows = large_ >= std::log2(model.max_finite);
    if (overflows || (model.min_normal > 0 && small_ <= std::log2(model.min_normal))) {
      product.e = kInf;
      product.marks |= kRange;
    }
    return product;
  }

 private:
  double large_ = 0, small_ = 0;  // log2
};

struct ProdKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> x = converted(k.in("self"), k.out().dtype());
    const Tensor<T>& out = k.out();
    reduce_terms(k.call(), x, [&](std::int64_t o, const auto& at, std::size_t n) {
      if (out.integral()) {
        std::int64_t product = 1;
        int marks = 0;
        for (std::size_t j = 0; j < n; ++j) {
          product = wrap_mul(product, value_of(x.integer(at(j))));
          marks |= marks_of(x.integer(at(j)));
        }
        out.integer(o) = make_int<T>(wrap_to(out.dtype(), product), marks);
      } else {
        T product = widen<T>(1);
        OrderFreeRange range;
        for (std::size_t j = 0; j < n; ++j) {
          product = product * x.real(at(j));
          range.add(narrow(x.real(at(j))));
        }
        out.real(o) = range.judged(product);
      }
    });
  }
};

Expr cumulative(const std::string& name, const Expr& x, int dim) {
  return emit(*x.builder, "aten." + name + ".default", {{"self", x.ref}, {"dim", Dim(dim)}});
}

Expr flipped(const Expr& x, int dim) {
  return emit(*x.builder, "aten.flip.default", {{"self", x.ref}, {"dims", std::vector<Dim>{dim}}});
}

Expr sliced(const Expr& x, int dim, std::int64_t start, std::int64_t end) {
  return emit(*x.builder, "aten.slice.Tensor",
              {{"self", x.ref}, {"dim", Dim(dim)}, {"start", Dim(start)}, {"end", Dim(end)}});
}

// The product of the elements before each one along `dim`.
Expr product_before(const Expr& x, int dim, std::int64_t size) {
  const Expr ones = unary("ones_like", sliced(x, dim, 0, 1));
  if (size == 1) return ones;
  const Expr shifted =
      emit(*x.builder, "aten.cat.default",
           {{"tensors", std::vector<Ref>{ones.ref, sliced(x, dim, 0, size - 1).ref}},
            {"dim", Dim(dim)}});
  return cumulative("cumprod", shifted, dim);
}

// result / self, and where that is 0 / 0 the product of all others, by products from both ends
// (prod_safe_zeros_backward).
void prod_backward(Backward& b) {
  const Expr g = gradient(b);
  const Expr self = cast(input(b, "self"), g.type().dtype);
  const Shape shape = self.type().shape;
  if (shape.empty()) return give(b, "self", g);
  const bool all = b.call().op().schema.find("dim") == nullptr;
  Expr x = self, upstream = g;
  int dim = 0;
  if (all) {
    x = emit(b, "aten.reshape.default",
             {{"self", self.ref}, {"shape", std::vector<Dim>{element_count(shape)}}});
  } else {
    dim = reduced_dims(b.call())[0];
    upstream = unreduced(g, {dim}, shape.size(), b.call().boolean("keepdim"));
  }
  const std::int64_t size = x.type().shape[static_cast<std::size_t>(dim)];
  if (size == 0) return give(b, "self", zeros_like(self));
  const Expr after = flipped(product_before(flipped(x, dim), dim, size), dim);
  const Expr others = product_before(x, dim, size) * after;
  const Expr total =
      all ? output(b) : unreduced(output(b), {dim}, shape.size(), b.call().boolean("keepdim"));
  Expr result = upstream * where(compare("eq", x, 0.0), others, total / x);
  if (all) {
    result = emit(b, "aten.reshape.default", {{"self", result.ref}, {"shape", as_dims(shape)}});
  }
  give(b, "self", result);
}

// ---- along a line ---------------------------------------------------------------------------

// out[i] = total of in[0..i] along `dim`.
struct CumsumKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> x = converted(k.in("self"), k.out().dtype());
    const Tensor<T>& out = k.out();
    const std::int64_t dim = wrap_dim(k.call().integer("dim"), x.shape().size());
    const std::int64_t size = x.rank() == 0 ? 1 : x.shape()[static_cast<std::size_t>(dim)];
    for_each_line(
        static_cast<int>(dim),
        [&](const auto& line) {
          Sum<T> sum;
          std::int64_t total = 0;
          int marks = 0;
          for (std::int64_t i = 0; i < size; ++i) {
            const std::int64_t from = line.at[0] + i * line.step[0];
            const std::int64_t to = line.at[1] + i * line.step[1];
            if (out.integral()) {
              total = wrap_add(total, value_of(x.integer(from)));
              marks |= marks_of(x.integer(from));
              out.integer(to) = make_int<T>(wrap_to(out.dtype(), total), marks);
            } else {
              sum.add(x.real(from));
              out.real(to) = sum.total();
            }
          }
        },
        x, out);
  }
};

struct CumprodKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> x = converted(k.in("self"), k.out().dtype());
    const Tensor<T>& out = k.out();
    const std::int64_t dim = wrap_dim(k.call().integer("dim"), x.shape().size());
    const std::int64_t size = x.rank() == 0 ? 1 : x.shape()[static_cast<std::size_t>(dim)];
    for_each_line(
        static_cast<int>(dim),
        [&](const auto& line) {
          T product = widen<T>(1);
          std::int64_t whole = 1;
          int marks = 0;
          for (std::int64_t i = 0; i < size; ++i) {
            const std::int64_t from = line.at[0] + i * line.step[0];
            const std::int64_t to = line.at[1] + i * line.step[1];
            if (out.integral()) {
              whole = wrap_mul(whole, value_of(x.integer(from)));
              marks |= marks_of(x.integer(from));
              out.integer(to) = make_int<T>(wrap_to(out.dtype(), whole), marks);
            } else {
              product = product * x.real(from);
              out.real(to) = product;
            }
          }
        },
        x, out);
  }
};

std::vector<TensorType> infer_cumulative(const Call& call) {
  require_real(call, "self");
  const TensorType& self = call.tensor("self");
  reduced_dims(call);  // is `dim` in range?
  const DType natural = is_integral(self.dtype) ? DType::kInt64 : self.dtype;
  const DType dtype = call.given("dtype") ? call.dtype("dtype") : natural;
  if (dtype == DType::kBool) call.fail("not implemented for bool");
  return {{dtype, self.shape}};
}

void cumsum_backward(Backward& b) {
  const Expr g = gradient(b);
  const std::size_t rank = g.type().shape.size();
  if (rank == 0) return give(b, "self", g);
  const int dim = wrap_dim(b.call().integer("dim"), rank);
  give(b, "self", flipped(cumulative("cumsum", flipped(g, dim), dim), dim));
}

// ---- draws ----------------------------------------------------------------------------------

bool draw_sum(Draw& d) {
  const bool any = d.random().chance(0.1);
  const Ref self = d.operand({.types = any ? Want::Types::kBool : Want::Types::kNumeric,
                              .min_rank = d.random().chance(0.05) ? 0 : 1});
  std::vector<NamedArgument> args{{"self", self}};
  add_reduced_dims(d, self, args);
  if (d.random().chance(0.1)) {
    const bool wide = is_floating(d.type(self).dtype);
    args.push_back({"dtype", wide ? DType::kFloat32 : DType::kInt32});
  }
  return d.call(std::move(args));
}

bool draw_cumulative(Draw& d) {
  const Ref self = d.operand(want_numeric(1));
  return d.call({{"self", self}, {"dim", Dim(d.dim(self))}});
}

constexpr OpRow kRows[] = {
    {.schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .python = "torch.sum",
     .infer = infer_sum,
     .kernels = &kKernels<SumKernel>,
     .derivative = sum_backward,
     .draw = draw_sum,
     .weight = 0.8,
     .edges = kEdges},
    {.schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .python = "torch.sum",
     .infer = infer_sum,
     .kernels = &kKernels<SumKernel>,
     .derivative = sum_backward,
     .draw = draw_sum,
     .weight = 1.5,
     .edges = kEdges},
    {.schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .python = "torch.mean",
     .infer = infer_mean,
     .kernels = &kKernels<MeanKernel>,
     .derivative = mean_backward,
     .draw = draw_reduction_floating,
     .weight = 0.7,
     .edges = kEdges},
    {.schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .python = "torch.mean",
     .infer = infer_mean,
     .kernels = &kKernels<MeanKernel>,
     .derivative = mean_backward,
     .draw = draw_reduction_floating,
     .edges = kEdges},
    {.schema = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .python = "torch.prod",
     .infer = infer_sum,
     .kernels = &kKernels<ProdKernel>,
     .derivative = prod_backward,
     .draw = draw_reduction,
     .weight = 0.4,
     .numerics = {.narrow_accumulator = true},
     .edges = kEdges},
    {.schema = "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, "
               "ScalarType? dtype=None) -> Tensor",
     .python = "torch.prod",
     .infer = infer_sum,
     .kernels = &kKernels<ProdKernel>,
     .derivative = prod_backward,
     .draw = draw_reduction,
     .weight = 0.6,
     .numerics = {.narrow_accumulator = true},
     .edges = kEdges},
    {.schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .python = "torch.cumsum",
     .infer = infer_cumulative,
     .kernels = &kKernels<CumsumKernel>,
     .derivative = cumsum_backward,
     .draw = draw_cumulative,
     .weight = 0.8,
     .edges = kEdges},
    // Of prod's derivative; never drawn, for it has none of its own here.
    {.schema = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .python = "torch.cumprod",
     .infer = infer_cumulative,
     .kernels = &kKernels<CumprodKernel>,
     .weight = 0,
     .edges = kEdges},
};

}  // namespace

std::span<const OpRow> reduce_sum_rows() { return kRows; }

}  // namespace ulpfuzz
