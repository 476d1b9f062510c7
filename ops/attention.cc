#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "ops/softmax.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"
#include "oracle/nominal.h"

// scaled_dot_product_attention: softmax(q k^T * scale + mask) v, where a row whose keys are all
// masked gives zeros (in every kernel of torch 2.11 for a CPU: math, flash).
namespace ulpfuzz {
namespace {

// Sizes of a call. `batch` holds everything before (L, E); with grouped queries its last entry is
// the number of query heads, and those of keys and values are repeated.
struct Attention {
  Shape batch;
  std::int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  double scale = 0;
  Shape out() const {
    Shape shape = batch;
    shape.push_back(queries);
    shape.push_back(value_width);
    return shape;
  }
  Shape scores() const {
    Shape shape = batch;
    shape.push_back(queries);
    shape.push_back(keys);
    return shape;
  }
};

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

// The batch of keys or values, with heads repeated for grouped queries.
Shape repeated(const Call& call, Shape batch, const Shape& query_batch) {
  if (!call.boolean("enable_gqa")) return batch;
  if (batch.empty() || batch.back() == 0 || query_batch.back() % batch.back() != 0) {
    call.fail("the number of query heads must be a multiple of that of keys and values");
  }
  batch.back() = query_batch.back();
  return batch;
}

void check_mask(const Call& call, const Attention& a, DType dtype) {
  if (!call.given("attn_mask")) return;
  if (call.boolean("is_causal")) call.fail("attn_mask and is_causal exclude each other");
  const TensorType& mask = call.tensor("attn_mask");
  if (mask.dtype != DType::kBool && mask.dtype != dtype && mask.dtype != DType::kFloat32) {
    call.fail("attn_mask must be bool, float32 or of the query's dtype");
  }
  if (mask.shape.size() > a.batch.size() + 2 || broadcast(mask.shape, a.scores()) != a.scores()) {
    call.fail("attn_mask must broadcast to the scores");
  }
}

Attention attention_of(const Call& call) {
  require_floating(call, "query");
  const TensorType& query = call.tensor("query");
  require_dtype(call, "key", query.dtype);
  require_dtype(call, "value", query.dtype);
  const Shape &q = query.shape, &k = call.tensor("key").shape, &v = call.tensor("value").shape;
  if (q.size() < 2 || k.size() != q.size() || v.size() != q.size()) {
    call.fail("query, key and value must have the same number of dimensions, at least 2");
  }
  if (q.back() != k.back()) call.fail("query and key must have the same last size");
  if (k.end()[-2] != v.end()[-2]) call.fail("key and value must have the same length");
  if (q.back() == 0) call.fail("the last size must not be 0");
  if (call.floating("dropout_p") != 0) call.fail("dropout is not supported");
  const Shape of_q = leading(q);
  Attention a;
  a.batch = broadcast(
      of_q, broadcast(repeated(call, leading(k), of_q), repeated(call, leading(v), of_q)));
  a.queries = q.end()[-2];
  a.width = q.back();
  a.keys = k.end()[-2];
  a.value_width = v.back();
  a.scale =
      call.given("scale") ? call.floating("scale") : 1 / std::sqrt(static_cast<double>(a.width));
  check_mask(call, a, query.dtype);
  return a;
}

std::vector<TensorType> infer_attention(const Call& call) {
  return {{call.tensor("query").dtype, attention_of(call).out()}};
}

// Where the matrices of each batch element start, heads of keys and values repeated.
template <class T>
std::vector<std::int64_t> bases(const Tensor<T>& t, const Shape& batch, bool grouped) {
  Shape shape = leading(t.shape()), strides = leading(t.strides());
  Shape seen = batch;
  if (grouped && !shape.empty() && shape.back() != batch.back()) {
    // (..., heads, repeats): the repeats have stride 0.
    const std::int64_t repeats = batch.back() / shape.back();
    shape.push_back(repeats);
    strides.push_back(0);
    seen.back() /= repeats;
    seen.push_back(repeats);
  }
  return positions(seen, broadcast_strides(shape, strides, seen), t.offset());
}

// A (rows, columns) matrix of t at a base, contiguous.
template <class T>
std::vector<T> matrix(const Tensor<T>& t, std::int64_t base, std::int64_t rows,
                      std::int64_t columns) {
  std::vector<T> elements;
  elements.reserve(static_cast<std::size_t>(rows * columns));
  const std::int64_t down = t.strides().end()[-2], across = t.strides().end()[-1];
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      elements.push_back(t.real(base + i * down + j * across));
    }
  }
  return elements;
}

template <class T>
void add_error(T& x, double e) {
  if constexpr (kIsRunning<T>) {
    if (internal::is_finite(x.v)) x.e = internal::add_errors(x.e, e, ErrorModel::current());
  }
}

struct AttentionKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Attention a = attention_of(k.call());
    const bool grouped = k.call().boolean("enable_gqa");
    const Tensor<T>&query = k.in("query"), &key = k.in("key"), &value = k.in("value");
    const auto q_at = bases(query, a.batch, false), k_at = bases(key, a.batch, grouped),
               v_at = bases(value, a.batch, grouped);
    const std::vector<std::int64_t> mask_at = mask_positions(k, a);
    const std::int64_t scores = a.queries * a.keys, results = a.queries * a.value_width;
    for (std::size_t b = 0; b < q_at.size(); ++b) {
      const std::vector<T> q = matrix(query, q_at[b], a.queries, a.width);
      const std::vector<T> keys = matrix(key, k_at[b], a.keys, a.width);
      const std::vector<T> values = matrix(value, v_at[b], a.keys, a.value_width);
      for (std::int64_t i = 0; i < a.queries; ++i) {
        const auto at = static_cast<std::int64_t>(b);
        const std::int64_t* mask =
            mask_at.empty() ? nullptr : mask_at.data() + at * scores + i * a.keys;
        attend(k, a, q.data() + i * a.width, keys, values, i, mask,
               at * results + i * a.value_width);
      }
    }
  }

 private:
  template <class T>
  static std::vector<std::int64_t> mask_positions(const Kernel<T>& k, const Attention& a) {
    if (!k.has("attn_mask")) return {};
    const Tensor<T> mask = k.in("attn_mask").expand(a.scores());
    return positions(mask.shape(), mask.strides(), mask.offset());
  }

  // One query: its scores, and where keys are out of sight.
  template <class T>
  static void attend(Kernel<T>& k, const Attention& a, const T* q, const std::vector<T>& keys,
                     const std::vector<T>& values, std::int64_t row, const std::int64_t* mask,
                     std::int64_t to) {
    if (a.keys == 0 || a.value_width == 0) return;
    const bool causal = k.call().boolean("is_causal");
    std::vector<T> weights(static_cast<std::size_t>(a.keys));
    std::vector<bool> hidden(weights.size());
    bool open = false;  // what is hidden is not finite: some kernels look at it, some do not
    int marks = 0;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const auto at = static_cast<std::size_t>(j);
      weights[at] = score(a, q, keys.data() + j * a.width);
      const bool finite = std::isfinite(narrow(weights[at]));
      if (mask != nullptr && k.in("attn_mask").integral()) {
        const Int<T>& allowed = k.in("attn_mask").integer(mask[j]);
        hidden[at] = value_of(allowed) == 0;
        marks |= marks_of(allowed);
      } else if (mask != nullptr) {
        const T added = k.in("attn_mask").real(mask[j]);
        hidden[at] = is_minus_infinity(added);
        if (!hidden[at]) weights[at] = weights[at] + added;
      } else {
        hidden[at] = causal && j > row;
      }
      if (!hidden[at]) continue;
      open = open || !finite;
      weights[at] = widen<T>(-std::numeric_limits<double>::infinity());
    }
    mix(k, a, std::move(weights), hidden, open, marks, values, to);
  }

  // q . k * scale. The math kernel scales q and k by the root before, which rounds each product
  // four times more.
  template <class T>
  static T score(const Attention& a, const T* q, const T* key) {
    Sum<T> sum;
    double sizes = 0;
    for (std::int64_t d = 0; d < a.width; ++d) {
      sum.add_product(q[d], key[d]);
      if constexpr (kIsRunning<T>) {
        const double size = std::fabs(narrow(q[d]) * narrow(key[d]));
        sizes += ErrorModel::current().mode == ErrorMode::kBound ? size : size * size;
      }
    }
    T s = sum.total() * constant<T>(a.scale);
    if constexpr (kIsRunning<T>) {
      const ErrorModel& model = ErrorModel::current();
      const bool bound = model.mode == ErrorMode::kBound;
      add_error(s, std::fabs(a.scale) * model.unit * (bound ? 4 * sizes : 2 * std::sqrt(sizes)));
    }
    return s;
  }

  // softmax(weights) @ values. Fused kernels hold the weights in the values' dtype.
  template <class T>
  static void mix(Kernel<T>& k, const Attention& a, std::vector<T> weights,
                  const std::vector<bool>& hidden, bool open, int marks,
                  const std::vector<T>& values, std::int64_t to) {
    const DType dtype = k.out().dtype();
    softmax_line(weights, true, opmath(dtype));
    const double narrower = opmath(dtype) == dtype ? 0 : float_format(dtype).unit_roundoff;
    for (std::int64_t c = 0; c < a.value_width; ++c) {
      Sum<T> sum;
      double sizes = 0;
      bool undecided = open;
      for (std::int64_t j = 0; j < a.keys; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const T& v = values[static_cast<std::size_t>(j * a.value_width + c)];
        if (hidden[at]) {
          undecided = undecided || !std::isfinite(narrow(v));
          continue;
        }
        sum.add_product(weights[at], v);
        const double size = std::fabs(narrow(weights[at]) * narrow(v));
        sizes += ErrorModel::current().mode == ErrorMode::kBound ? size : size * size;
      }
      T result = undecided ? undefined<T>() : sum.total();
      const bool bound = ErrorModel::current().mode == ErrorMode::kBound;
      // The running maximum of online kernels rescales, and divides at the end: 3 roundings.
      const double unit = narrower + 3 * ErrorModel::current().unit;
      add_error(result, unit * (bound ? sizes : std::sqrt(sizes)));
      if constexpr (kIsRunning<T>) {
        result.marks |= static_cast<std::uint8_t>(marks);
        if (marks & (kNearTie | kUndefined)) result.e = std::numeric_limits<double>::infinity();
      }
      k.out().real(to + c) = result;
    }
  }
};

// ---- derivative -----------------------------------------------------------------------------

Expr transposed(const Expr& x) {
  return emit(*x.builder, "aten.transpose.int",
              {{"self", x.ref}, {"dim0", Dim(-2)}, {"dim1", Dim(-1)}});
}
Expr product(const Expr& a, const Expr& b) {
  return emit(*a.builder, "aten.matmul.default", {{"self", a.ref}, {"other", b.ref}});
}

// (..., heads, s, e) as (..., heads, repeats, s, e), and back from a gradient.
Shape grouped_shape(const Shape& shape, std::int64_t repeats) {
  Shape grouped = shape;
  grouped.insert(grouped.end() - 2, repeats);
  return grouped;
}
Expr repeat_heads(const Expr& x, std::int64_t repeats) {
  if (repeats == 1) return x;
  Backward& b = *x.builder;
  const Shape shape = x.type().shape;
  const Expr one{&b, reshaped(b, x.ref, grouped_shape(shape, 1))};
  Shape all = shape;
  all.end()[-3] *= repeats;
  return {&b, reshaped(b, expand(one, grouped_shape(shape, repeats)).ref, all)};
}
Expr sum_heads(const Expr& g, std::int64_t repeats) {
  if (repeats == 1) return g;
  Backward& b = *g.builder;
  Shape shape = g.type().shape;
  shape.end()[-3] /= repeats;
  const Expr grouped{&b, reshaped(b, g.ref, grouped_shape(shape, repeats))};
  return sum(grouped, {static_cast<int>(shape.size()) - 2}, false);
}

Expr masked_scores(Backward& b, const Attention& a, Expr scores) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (b.call().boolean("is_causal")) {
    const std::vector<Dim> square{Dim(a.queries), Dim(a.keys)};
    const Expr ones =
        emit(b, "aten.full.default",
             {{"size", square}, {"fill_value", Scalar{true}}, {"dtype", DType::kBool}});
    const Expr above = emit(b, "aten.triu.default", {{"self", ones.ref}, {"diagonal", Dim(1)}});
    return masked_fill(scores, above, -infinity);
  }
  if (!b.call().given("attn_mask")) return scores;
  const Expr mask = input(b, "attn_mask");
  if (mask.type().dtype != DType::kBool) return scores + cast(mask, scores.type().dtype);
  return masked_fill(scores, unary("logical_not", mask), -infinity);
}

// Weights are recomputed in opmath; fused kernels round them, and the gradients of the scores, to
// the operands' dtype before they are multiplied. The sum of each row of dP * P is taken as
// P . dP + (dO . O - P . dP), so that its error covers both formulas in use (FlashAttention,
// Dao et al. 2022, section B.4 has the second).
void derive_attention(Backward& b) {
  const Attention a = attention_of(b.call());
  const DType dtype = b.type(b.output()).dtype, wide = opmath(dtype);
  const auto repeats = [&](std::string_view arg) {
    const Shape& shape = b.call().tensor(arg).shape;
    return b.call().boolean("enable_gqa") ? a.batch.back() / shape.end()[-3] : std::int64_t{1};
  };
  const Expr g = gradient(b), q = input(b, "query");
  const Expr k = repeat_heads(input(b, "key"), repeats("key"));
  const Expr v = repeat_heads(input(b, "value"), repeats("value"));
  const double root = std::sqrt(std::fabs(a.scale));
  const Expr raw =
      product(cast(q, wide) * std::copysign(root, a.scale), transposed(cast(k, wide) * root));
  const Expr scores = masked_scores(b, a, raw);
  const Expr p = emit(b, "aten._safe_softmax.default", {{"self", scores.ref}, {"dim", Dim(-1)}});
  if (b.needs("value")) {
    give(b, "value", sum_heads(product(transposed(cast(p, dtype)), g), repeats("value")));
  }
  const bool masks = b.call().given("attn_mask") && b.needs("attn_mask");
  if (!b.needs("query") && !b.needs("key") && !masks) return;
  const std::vector<int> last{static_cast<int>(a.batch.size()) + 1};
  const Expr gw = cast(g, wide);
  const Expr dp = product(gw, transposed(cast(v, wide)));
  const Expr by_weights = sum(p * dp, last, true);
  const Expr by_output = sum(gw * cast(output(b), wide), last, true);
  const Expr ds = p * (dp - (by_weights + (by_output - by_weights)));
  if (masks) give(b, "attn_mask", ds);
  const Expr scaled = cast(ds * a.scale, dtype);
  if (b.needs("query")) give(b, "query", product(scaled, k));
  if (b.needs("key")) give(b, "key", sum_heads(product(transposed(scaled), q), repeats("key")));
}

// ---- random calls ---------------------------------------------------------------------------

std::int64_t draw_divisor(Draw& d, std::int64_t n) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t i = 1; i < n; ++i) {
    if (n % i == 0) divisors.push_back(i);
  }
  return divisors.empty() ? n : d.random().pick(divisors);
}

Ref draw_mask(Draw& d, DType dtype, const Attention& a) {
  Shape shape{a.queries, a.keys};
  const double kind = d.random().unit();
  if (kind < 0.4) {
    shape = a.scores();
  } else if (kind < 0.6) {
    shape = a.scores();
    std::fill(shape.begin(), shape.end() - 2, 1);
    if (!a.batch.empty()) shape.front() = a.batch.front();
    if (d.random().chance(0.5)) shape.end()[-2] = 1;  // keys that are padding
  }
  Fill fill;
  fill.seed = d.random().bits();
  if (d.random().chance(0.5)) {
    fill.kind = Fill::Kind::kChoice;
    fill.values = {1, 1, 1, 0};
    if (d.random().chance(0.2)) fill.values = {1, 0, 0, 0};
    return d.new_input(DType::kBool, shape, fill);
  }
  if (d.random().chance(0.5)) return d.operand_of(dtype, shape);
  fill.kind = Fill::Kind::kNormal;
  fill.special_rate = 20000;
  fill.values = {-std::numeric_limits<double>::infinity()};
  fill.grid = dtype;
  return d.new_input(dtype, shape, fill);
}

// Attention as people wrote it before there was an operator, which compilers look for: queries
// (b, h, s, d), keys (b, h, s, d) or still (b, s, h, d), scaled by a product or a quotient.
bool draw_by_hand(Draw& d) {
  const Ref query = d.operand(
      {.types = Want::Types::kFloating, .min_rank = 4, .max_rank = 4, .also = [](const auto& t) {
         return element_count(t.shape) > 0;
       }});
  const TensorType type = d.type(query);
  const Shape& q = type.shape;
  Ref keys;
  if (d.random().chance(0.5)) {
    const Ref key = d.operand_of(type.dtype, q);
    keys = d.also("aten.transpose.int", {{"self", key}, {"dim0", Dim(-2)}, {"dim1", Dim(-1)}});
  } else {
    const std::int64_t length = d.random().chance(0.5) ? q[1] : q[2];
    const Ref key = d.operand_of(type.dtype, {q[0], length, q[1], q[3]});
    keys = d.also("aten.permute.default", {{"self", key}, {"dims", std::vector<Dim>{0, 2, 3, 1}}});
  }
  Ref scores = d.also("aten.matmul.default", {{"self", query}, {"other", keys}});
  if (d.random().chance(0.8)) {
    const bool product = d.random().chance(0.5);
    scores = d.also(product ? "aten.mul.Tensor" : "aten.div.Tensor",
                    {{"self", scores}, {"other", Scalar{product ? 0.25 : 4.0}}});
  }
  if (d.random().chance(0.2)) {
    const Shape shape(d.type(scores).shape.end() - 2, d.type(scores).shape.end());
    const Ref mask = d.operand_of(type.dtype, shape);
    scores = d.also("aten.add.Tensor", {{"self", scores}, {"other", mask}});
  }
  const Ref weights = d.also("aten.softmax.int", {{"self", scores}, {"dim", Dim(-1)}});
  const Shape value{q[0], q[1], d.type(scores).shape.back(), q[3]};
  d.also("aten.matmul.default", {{"self", weights}, {"other", d.operand_of(type.dtype, value)}});
  return true;
}

// Heads before positions, mostly; keys of another length, fewer heads, other widths of values.
bool draw_attention(Draw& d) {
  if (d.random().chance(0.15)) return draw_by_hand(d);
  const Ref query =
      d.operand({.types = Want::Types::kFloating,
                 .min_rank = d.random().chance(0.85) ? 4 : 2,
                 .max_rank = 4,
                 .also = [](const TensorType& t) { return element_count(t.shape) > 0; }});
  const TensorType type = d.type(query);
  const std::size_t rank = type.shape.size();
  std::vector<NamedArgument> args = {{"query", query}};
  Shape key = type.shape;
  if (d.random().chance(0.3)) key[rank - 2] = d.random().integer(1, 17);
  const bool grouped = rank >= 3 && d.random().chance(0.3);
  if (grouped) key[rank - 3] = draw_divisor(d, key[rank - 3]);
  Shape value = key;
  if (d.random().chance(0.1)) value.back() = d.random().integer(1, 9);
  const Ref k = d.operand_of(type.dtype, key);
  args.push_back({"key", k});
  args.push_back(
      {"value", key == value && d.random().chance(0.1) ? k : d.operand_of(type.dtype, value)});
  Attention a;
  a.batch = leading(type.shape);
  a.queries = type.shape[rank - 2];
  a.keys = key[rank - 2];
  const double masked = d.random().unit();
  if (masked < 0.3) {
    args.push_back({"attn_mask", draw_mask(d, type.dtype, a)});
  } else if (masked < 0.6) {
    args.push_back({"is_causal", true});
  }
  if (d.random().chance(0.25)) {
    static constexpr std::array kScales{1.0, 0.25, 0.1, 2.0};
    args.push_back({"scale", d.random().pick(kScales)});
  }
  if (grouped) args.push_back({"enable_gqa", true});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
               "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
               "float? scale=None, bool enable_gqa=False) -> Tensor",
     .python = "torch.nn.functional.scaled_dot_product_attention",
     .infer = infer_attention,
     .kernels = &kKernels<AttentionKernel>,
     .derivative = derive_attention,
     .draw = draw_attention,
     .weight = 2.5,
     .numerics = {.function_ulps = 20, .extern_kernel = true}},
};

}  // namespace

std::span<const OpRow> attention_rows() { return kRows; }

}  // namespace ulpfuzz
