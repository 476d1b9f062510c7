#include <algorithm>
#include <array>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "ops/rounding.h"
#include "oracle/loops.h"

// Matrix products. Eager refuses operands of different dtypes, and bool.
namespace ulpfuzz {
namespace {

void require_rank(const Call& call, std::string_view arg, std::size_t rank) {
  if (call.tensor(arg).shape.size() != rank) {
    call.fail(std::string(arg) + " must have " + std::to_string(rank) + " dimensions");
  }
}

DType product_dtype(const Call& call, std::string_view a, std::string_view b) {
  require_real(call, a);
  require_no_bool(call, a);
  require_dtype(call, b, call.tensor(a).dtype);
  return call.tensor(a).dtype;
}

// (..., m, k) times (..., k, n), or their error.
Shape product_shape(const Call& call, const Shape& a, const Shape& b) {
  if (a.back() != b[b.size() - 2]) call.fail("inner sizes differ");
  Shape shape = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  return shape;
}

// ---- kernels --------------------------------------------------------------------------------

// A product that is added to: a kernel may have rounded it to its dtype before, as eager's linear
// of a strided operand does. Most add in opmath and round once (ATen's addmm and linear on a CPU,
// with oneDNN or without: measured, a bfloat16 or float16 sum errs by one rounding), so the
// expected error has none for it.
template <class T>
T perhaps_rounded(const T& x, DType dtype) {
  return ErrorModel::current().mode == ErrorMode::kBound ? maybe_half(x, dtype) : x;
}

template <class T>
void integer_matmul(const Tensor<T>& out, const Tensor<T>& a, const Tensor<T>& b) {
  const Shape batch(out.shape().begin(), out.shape().end() - 2);
  const auto lead = [&](const Tensor<T>& t) {
    return positions(batch,
                     broadcast_strides(Shape(t.shape().begin(), t.shape().end() - 2),
                                       Shape(t.strides().begin(), t.strides().end() - 2), batch),
                     t.offset());
  };
  const std::vector<std::int64_t> of_a = lead(a), of_b = lead(b);
  const auto at = [](const Tensor<T>& t, std::int64_t base, std::int64_t i, std::int64_t j) {
    const std::size_t rank = t.shape().size();
    return t.integer(base + i * t.strides()[rank - 2] + j * t.strides()[rank - 1]);
  };
  const std::int64_t m = a.shape().end()[-2], n = b.shape().back(), k = a.shape().back();
  std::int64_t to = out.offset();
  for (std::size_t batch_at = 0; batch_at < of_a.size(); ++batch_at) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j, ++to) {
        std::int64_t sum = 0;
        int marks = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const Int<T> x = at(a, of_a[batch_at], i, l), y = at(b, of_b[batch_at], l, j);
          sum = wrap_add(sum, wrap_mul(value_of(x), value_of(y)));
          marks |= marks_of(x) | marks_of(y);
        }
        out.integer(to) = wrapped(out.dtype(), make_int<T>(sum, marks));
      }
    }
  }
}

// out (..., m, n), contiguous, of any dtype.
template <class T>
void product_into(const Tensor<T>& out, const Tensor<T>& a, const Tensor<T>& b) {
  if (out.integral()) {
    integer_matmul(out, a, b);
  } else {
    batched_matmul(out, a, b);
  }
}

template <class T>
Tensor<T> with_dim(const Tensor<T>& x, std::size_t at) {
  Shape shape = x.shape(), strides = x.strides();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(at), 0);
  return x.view(shape, strides, x.offset());
}

template <class T>
Tensor<T> transposed(const Tensor<T>& x) {
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape.end()[-1], shape.end()[-2]);
  std::swap(strides.end()[-1], strides.end()[-2]);
  return x.view(shape, strides, x.offset());
}

// torch.matmul's meaning of vectors: a row on the left, a column on the right.
template <class T>
void matmul_into(const Tensor<T>& out, const Tensor<T>& self, const Tensor<T>& other) {
  const Tensor<T> a = self.rank() == 1 ? with_dim(self, 0) : self;
  const Tensor<T> b = other.rank() == 1 ? with_dim(other, 1) : other;
  Tensor<T> whole = out;
  if (self.rank() == 1) {
    whole = with_dim(whole, whole.shape().size() - (other.rank() == 1 ? 0 : 1));
  }
  if (other.rank() == 1) whole = with_dim(whole, whole.shape().size());
  product_into(whole.view(whole.shape(), contiguous_strides(whole.shape()), 0), a, b);
}

template <const char* const& kSelf, const char* const& kOther>
struct ProductKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    matmul_into(k.out(), k.in(kSelf), k.in(kOther));
  }
};
constexpr const char* kSelf = "self";
constexpr const char* kMat2 = "mat2";
constexpr const char* kOther = "other";
constexpr const char* kTensor = "tensor";
constexpr const char* kVec = "vec";

struct LinearKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    matmul_into(k.out(), k.in("input"), transposed(k.in("weight")));
    if (!k.has("bias")) return;
    const DType dtype = k.out().dtype();
    if (k.out().integral()) {
      map_int(
          k.out(), [](std::int64_t a, std::int64_t b) { return wrap_add(a, b); }, k.out(),
          k.in("bias"));
    } else {
      map_real(
          k.out(), [&](const T& a, const T& b) { return perhaps_rounded(a, dtype) + b; }, k.out(),
          k.in("bias"));
    }
  }
};

// beta * self + alpha * (a @ b), where beta = 0 leaves self out whatever it holds. With alpha = 0
// some libraries look at a and b and some do not, which shows where these are not finite.
template <const char* const& kA, const char* const& kB>
struct AddProductKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> product(k.out().type());
    product_into(product, k.in(kA), k.in(kB));
    const Scalar beta = k.call().scalar("beta"), alpha = k.call().scalar("alpha");
    if (product.integral()) {
      const std::int64_t x = beta.as_integer(), y = alpha.as_integer();
      map_int(
          k.out(),
          [&](std::int64_t s, std::int64_t p) { return wrap_add(wrap_mul(x, s), wrap_mul(y, p)); },
          k.in("self"), product);
      return;
    }
    const T x = k.number(beta), y = k.number(alpha);
    const DType dtype = product.dtype();
    const bool reads_self = beta.as_double() != 0, reads_product = alpha.as_double() != 0;
    const auto scaled = [](const Scalar& by, const T& factor, const T& value) {
      return by.as_double() == 1 ? value : factor * value;
    };
    map_real(
        k.out(),
        [&](const T& s, const T& p) {
          if (!reads_product && !std::isfinite(narrow(p))) return undefined<T>();
          const T term = perhaps_rounded(scaled(alpha, y, perhaps_rounded(p, dtype)), dtype);
          return reads_self ? term + scaled(beta, x, s) : term;
        },
        k.in("self"), product);
  }
};
constexpr const char* kMat1 = "mat1";
constexpr const char* kBatch1 = "batch1";
constexpr const char* kBatch2 = "batch2";

// ---- type rules -----------------------------------------------------------------------------

std::vector<TensorType> infer_mm(const Call& call) {
  require_rank(call, "self", 2);
  require_rank(call, "mat2", 2);
  return {{product_dtype(call, "self", "mat2"),
           product_shape(call, call.tensor("self").shape, call.tensor("mat2").shape)}};
}

std::vector<TensorType> infer_bmm(const Call& call) {
  require_rank(call, "self", 3);
  require_rank(call, "mat2", 3);
  const Shape &a = call.tensor("self").shape, &b = call.tensor("mat2").shape;
  if (a[0] != b[0]) call.fail("batch sizes differ");
  return {{product_dtype(call, "self", "mat2"), product_shape(call, a, b)}};
}

std::vector<TensorType> infer_matmul(const Call& call) {
  const DType dtype = product_dtype(call, "self", "other");
  Shape a = call.tensor("self").shape, b = call.tensor("other").shape;
  if (a.empty() || b.empty()) call.fail("both operands need at least one dimension");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  Shape shape = product_shape(call, a, b);
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return {{dtype, shape}};
}

std::vector<TensorType> infer_dot(const Call& call) {
  const DType dtype = product_dtype(call, "self", "tensor");
  require_rank(call, "self", 1);
  require_rank(call, "tensor", 1);
  if (call.tensor("self").shape != call.tensor("tensor").shape) call.fail("sizes differ");
  return {{dtype, {}}};
}

std::vector<TensorType> infer_mv(const Call& call) {
  const DType dtype = product_dtype(call, "self", "vec");
  require_rank(call, "self", 2);
  require_rank(call, "vec", 1);
  const Shape& self = call.tensor("self").shape;
  if (self[1] != call.tensor("vec").shape[0]) call.fail("inner sizes differ");
  return {{dtype, {self[0]}}};
}

std::vector<TensorType> infer_linear(const Call& call) {
  const DType dtype = product_dtype(call, "input", "weight");
  require_rank(call, "weight", 2);
  Shape shape = call.tensor("input").shape;
  const Shape& weight = call.tensor("weight").shape;
  if (shape.empty()) call.fail("input needs a dimension");
  if (shape.back() != weight[1]) call.fail("inner sizes differ");
  shape.back() = weight[0];
  if (call.given("bias")) {
    require_dtype(call, "bias", dtype);
    if (call.tensor("bias").shape != Shape{weight[0]}) call.fail("bias must have weight's rows");
  }
  return {{dtype, shape}};
}

std::vector<TensorType> add_product(const Call& call, std::string_view a, std::string_view b,
                                    std::size_t rank) {
  const DType dtype = product_dtype(call, a, b);
  require_rank(call, a, rank);
  require_rank(call, b, rank);
  require_dtype(call, "self", dtype);
  if (rank == 3 && call.tensor(a).shape[0] != call.tensor(b).shape[0]) {
    call.fail("batch sizes differ");
  }
  const Shape shape = product_shape(call, call.tensor(a).shape, call.tensor(b).shape);
  const Shape& self = call.tensor("self").shape;
  if (self.size() > rank || broadcast(self, shape) != shape) call.fail("self does not broadcast");
  for (const std::string_view number : {"beta", "alpha"}) {
    const bool whole = !std::holds_alternative<double>(call.scalar(number).value);
    if (is_integral(dtype) && !whole) call.fail("integer tensors take integer factors");
  }
  return {{dtype, shape}};
}
std::vector<TensorType> infer_addmm(const Call& call) {
  return add_product(call, "mat1", "mat2", 2);
}
std::vector<TensorType> infer_baddbmm(const Call& call) {
  return add_product(call, "batch1", "batch2", 3);
}

// ---- derivatives ----------------------------------------------------------------------------

Expr mt(const Expr& x) {
  return emit(*x.builder, "aten.transpose.int",
              {{"self", x.ref}, {"dim0", Dim(-2)}, {"dim1", Dim(-1)}});
}
Expr matmul(const Expr& a, const Expr& b) {
  const Shape &left = a.type().shape, &right = b.type().shape;
  const std::size_t rank = left.size();
  const bool batched = rank == 3 && right.size() == 3 && left[0] == right[0];
  if (!batched && (rank != 2 || right.size() != 2)) {
    return emit(*a.builder, "aten.matmul.default", {{"self", a.ref}, {"other", b.ref}});
  }
  const std::string op = rank == 2 ? "aten.mm.default" : "aten.bmm.default";
  return emit(*a.builder, op, {{"self", a.ref}, {"mat2", b.ref}});
}
Expr as_shape(const Expr& x, const Shape& shape) {
  if (x.type().shape == shape) return x;
  return {x.builder, reshaped(*x.builder, x.ref, shape)};
}
// (..., n) as (rows, n).
Expr folded(const Expr& x) {
  const std::int64_t n = x.type().shape.back();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.type().shape.size(); ++i) rows *= x.type().shape[i];
  return as_shape(x, {rows, n});
}

void derive_mm(Backward& b) {
  const Expr g = gradient(b);
  if (b.needs("self")) give(b, "self", matmul(g, mt(input(b, "mat2"))));
  if (b.needs("mat2")) give(b, "mat2", matmul(mt(input(b, "self")), g));
}

// ATen folds the batch of one operand into its rows when the other is a matrix, so that the
// matrix's gradient is one product.
void derive_matmul(Backward& b) {
  Expr x = input(b, "self"), y = input(b, "other"), g = gradient(b);
  const Shape a = x.type().shape, c = y.type().shape;
  Shape full = g.type().shape;
  if (a.size() == 1) full.insert(full.end() - (c.size() == 1 ? 0 : 1), 1);
  if (c.size() == 1) full.push_back(1);
  g = as_shape(g, full);
  if (a.size() == 1) x = as_shape(x, {1, a[0]});
  if (c.size() == 1) y = as_shape(y, {c[0], 1});
  if (b.needs("self")) {
    const bool fold = x.type().shape.size() == 2 && y.type().shape.size() > 2;
    const Expr dx = fold ? matmul(mt(folded(mt(g))), folded(mt(y))) : matmul(g, mt(y));
    give(b, "self", a.size() == 1 && dx.type().shape.size() == 2 ? as_shape(dx, a) : dx);
  }
  if (b.needs("other")) {
    const bool fold = y.type().shape.size() == 2 && x.type().shape.size() > 2;
    Expr dy = fold ? matmul(mt(folded(x)), folded(g)) : matmul(mt(x), g);
    if (c.size() == 1) dy = as_shape(dy, Shape(dy.type().shape.begin(), dy.type().shape.end() - 1));
    give(b, "other", dy);
  }
}

void derive_dot(Backward& b) {
  if (b.needs("self")) give(b, "self", gradient(b) * input(b, "tensor"));
  if (b.needs("tensor")) give(b, "tensor", gradient(b) * input(b, "self"));
}

void derive_mv(Backward& b) {
  const Expr g = gradient(b), vec = input(b, "vec");
  const std::int64_t m = g.type().shape[0], k = vec.type().shape[0];
  if (b.needs("self")) give(b, "self", as_shape(g, {m, 1}) * as_shape(vec, {1, k}));
  if (b.needs("vec")) {
    const Expr t = emit(b, "aten.t.default", {{"self", b.input("self")}});
    give(b, "vec", emit(b, "aten.mv.default", {{"self", t.ref}, {"vec", g.ref}}));
  }
}

void derive_linear(Backward& b) {
  const Expr g = gradient(b);
  if (b.needs("input")) {
    const Expr dx = matmul(folded(g), input(b, "weight"));
    give(b, "input", as_shape(dx, b.call().tensor("input").shape));
  }
  if (b.needs("weight")) give(b, "weight", matmul(mt(folded(g)), folded(input(b, "input"))));
  if (b.call().given("bias") && b.needs("bias")) {
    const Expr rows = folded(g);
    give(b, "bias", sum(rows, {0}, false));
  }
}

void derive_add_product(Backward& b, std::string_view first, std::string_view second) {
  const Expr g = gradient(b);
  const double beta = b.call().scalar("beta").as_double();
  const double alpha = b.call().scalar("alpha").as_double();
  if (b.needs("self")) give(b, "self", beta == 1 ? g : g * beta);
  const auto scaled = [&](const Expr& x) { return alpha == 1 ? x : x * alpha; };
  if (b.needs(first)) give(b, first, scaled(matmul(g, mt(input(b, second)))));
  if (b.needs(second)) give(b, second, scaled(matmul(mt(input(b, first)), g)));
}
void derive_addmm(Backward& b) { derive_add_product(b, "mat1", "mat2"); }
void derive_baddbmm(Backward& b) { derive_add_product(b, "batch1", "batch2"); }

// ---- random calls ---------------------------------------------------------------------------

Want want_matrix(Draw& d, int min_rank, int max_rank) {
  const bool integers = d.random().chance(0.04);
  return {.types = integers ? Want::Types::kInteger : Want::Types::kFloating,
          .min_rank = min_rank,
          .max_rank = max_rank};
}

// A size for the result: one of the operand's own, or a small one.
std::int64_t draw_size(Draw& d, const Shape& shape) {
  if (d.random().chance(0.5)) return d.random().pick(shape);
  return d.random().integer(1, 9);
}

// A right operand for `a` of (..., k): mostly existing or new, sometimes `a` itself transposed.
bool draw_mm(Draw& d) {
  const Ref a = d.operand(want_matrix(d, 2, 2));
  const TensorType type = d.type(a);
  const Ref b = d.operand_of(type.dtype, {type.shape[1], draw_size(d, type.shape)});
  return d.call({{"self", a}, {"mat2", b}});
}

bool draw_bmm(Draw& d) {
  const Ref a = d.operand(want_matrix(d, 3, 3));
  const TensorType type = d.type(a);
  const Ref b = d.operand_of(type.dtype, {type.shape[0], type.shape[2], draw_size(d, type.shape)});
  return d.call({{"self", a}, {"mat2", b}});
}

bool draw_matmul(Draw& d) {
  const Ref a = d.operand(want_matrix(d, 1, 4));
  const TensorType type = d.type(a);
  const std::size_t rank = type.shape.size();
  Shape shape{type.shape.back()};
  const double kind = d.random().unit();
  if (kind > 0.1) {
    shape.push_back(draw_size(d, type.shape));
    if (kind > 0.4 && rank > 2) {
      shape.insert(shape.begin(), type.shape.begin(), type.shape.end() - 2);
      if (d.random().chance(0.15)) shape.front() = 1;
    } else if (kind > 0.9) {
      shape.insert(shape.begin(), d.random().integer(1, 3));
    }
  }
  const Ref b = d.operand_of(type.dtype, shape);
  return d.call({{"self", a}, {"other", b}});
}

bool draw_dot(Draw& d) {
  const Ref a = d.operand(want_matrix(d, 1, 1));
  const TensorType type = d.type(a);
  return d.call({{"self", a}, {"tensor", d.operand_of(type.dtype, type.shape)}});
}

bool draw_mv(Draw& d) {
  const Ref a = d.operand(want_matrix(d, 2, 2));
  const TensorType type = d.type(a);
  return d.call({{"self", a}, {"vec", d.operand_of(type.dtype, {type.shape[1]})}});
}

bool draw_linear(Draw& d) {
  const Ref x = d.operand(want_matrix(d, 1, 4));
  const TensorType type = d.type(x);
  const std::int64_t n = draw_size(d, type.shape);
  std::vector<NamedArgument> args = {{"input", x},
                                     {"weight", d.operand_of(type.dtype, {n, type.shape.back()})}};
  if (d.random().chance(0.6)) args.push_back({"bias", d.operand_of(type.dtype, {n})});
  return d.call(std::move(args));
}

// Factors: 0, which has a meaning of its own, now and then.
void draw_factors(Draw& d, DType dtype, std::vector<NamedArgument>& args) {
  for (const char* name : {"beta", "alpha"}) {
    if (!d.random().chance(0.4)) continue;
    const std::int64_t whole = d.random().integer(0, 3) * (d.random().chance(0.2) ? -1 : 1);
    const bool fraction = is_floating(dtype) && whole != 0 && d.random().chance(0.6);
    args.push_back({name, fraction ? draw_fraction(d) : Scalar{whole}});
  }
}

// With beta = 0 what self holds must not matter: NaN and infinities too.
Ref draw_added(Draw& d, DType dtype, const Shape& shape, const std::vector<NamedArgument>& args) {
  const auto ignored = std::any_of(args.begin(), args.end(), [](const NamedArgument& arg) {
    return arg.name == "beta" && std::get<Scalar>(arg.value).as_double() == 0;
  });
  if (!ignored || !is_floating(dtype) || d.random().chance(0.5)) return d.operand_of(dtype, shape);
  Fill fill;
  fill.kind = Fill::Kind::kChoice;
  fill.seed = d.random().bits();
  fill.values = {1, -2, std::numeric_limits<double>::quiet_NaN(),
                 std::numeric_limits<double>::infinity()};
  return d.new_input(dtype, shape, fill);
}

bool draw_add_product(Draw& d, const char* first, const char* second, int rank) {
  const Ref a = d.operand(want_matrix(d, rank, rank));
  const TensorType type = d.type(a);
  Shape right = type.shape;
  right[right.size() - 2] = type.shape.back();
  right.back() = draw_size(d, type.shape);
  const Ref b = d.operand_of(type.dtype, right);
  std::vector<NamedArgument> args = {{first, a}, {second, b}};
  draw_factors(d, type.dtype, args);
  Shape added{right.back()};
  if (d.random().chance(0.6)) {
    added = type.shape;
    added.back() = right.back();
    if (d.random().chance(0.2)) added.front() = 1;
  }
  args.push_back({"self", draw_added(d, type.dtype, added, args)});
  return d.call(std::move(args));
}
bool draw_addmm(Draw& d) { return draw_add_product(d, "mat1", "mat2", 2); }
bool draw_baddbmm(Draw& d) { return draw_add_product(d, "batch1", "batch2", 3); }

constexpr Numerics kExtern{.extern_kernel = true};

constexpr OpRow kRows[] = {
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
     .python = "torch.mm",
     .infer = infer_mm,
     .kernels = &kKernels<ProductKernel<kSelf, kMat2>>,
     .derivative = derive_mm,
     .draw = draw_mm,
     .numerics = kExtern},
    {.schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
     .python = "torch.bmm",
     .infer = infer_bmm,
     .kernels = &kKernels<ProductKernel<kSelf, kMat2>>,
     .derivative = derive_mm,
     .draw = draw_bmm,
     .numerics = kExtern},
    {.schema = "aten::matmul(Tensor self, Tensor other) -> Tensor",
     .python = "torch.matmul",
     .infer = infer_matmul,
     .kernels = &kKernels<ProductKernel<kSelf, kOther>>,
     .derivative = derive_matmul,
     .draw = draw_matmul,
     .weight = 2,
     .numerics = kExtern},
    {.schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
     .python = "torch.dot",
     .infer = infer_dot,
     .kernels = &kKernels<ProductKernel<kSelf, kTensor>>,
     .derivative = derive_dot,
     .draw = draw_dot,
     .weight = 0.5,
     .numerics = kExtern},
    {.schema = "aten::mv(Tensor self, Tensor vec) -> Tensor",
     .python = "torch.mv",
     .infer = infer_mv,
     .kernels = &kKernels<ProductKernel<kSelf, kVec>>,
     .derivative = derive_mv,
     .draw = draw_mv,
     .weight = 0.5,
     .numerics = kExtern},
    {.schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     .python = "torch.nn.functional.linear",
     .infer = infer_linear,
     .kernels = &kKernels<LinearKernel>,
     .derivative = derive_linear,
     .draw = draw_linear,
     .weight = 1.5,
     .numerics = kExtern},
    {.schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
               "Scalar alpha=1) -> Tensor",
     .python = "torch.addmm",
     .infer = infer_addmm,
     .kernels = &kKernels<AddProductKernel<kMat1, kMat2>>,
     .derivative = derive_addmm,
     .draw = draw_addmm,
     .numerics = kExtern},
    {.schema = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
               "Scalar alpha=1) -> Tensor",
     .python = "torch.baddbmm",
     .infer = infer_baddbmm,
     .kernels = &kKernels<AddProductKernel<kBatch1, kBatch2>>,
     .derivative = derive_baddbmm,
     .draw = draw_baddbmm,
     .numerics = kExtern},
};

}  // namespace

std::span<const OpRow> matmul_rows() { return kRows; }

}  // namespace ulpfuzz
