#include <algorithm>
#include <array>
#include <cmath>

#include "systems/fault_families.h"
#include "systems/fault_planter.h"

// Half types: where they are widened, how they are rounded, in what they are accumulated. Rounding
// is written as float32 arithmetic that a compiler without -ffast-math must keep: with
// c = x (2^(24-p) + 1), c - (c - x) is x rounded to p bits (Veltkamp; Dekker, A floating-point
// technique for extending the available precision, Numer. Math. 18, 1971).
namespace ulpfuzz {
namespace {

constexpr std::int64_t kLongestChain = 64;

Ref rounded(Insertion& at, const Ref& x, DType half) {
  const double factor = std::ldexp(1.0, 24 - float_format(half).precision) + 1;
  const Ref c = at.call("mul.Tensor", x, Scalar{factor});
  return at.call("sub.Tensor", c, at.call("sub.Tensor", c, x));
}

// ---- dropped upcasts --------------------------------------------------------------------------

// `dtype=torch.float32` of a half-typed operand: computed in the half type, then cast.
bool drop_dtype_argument(Planter& p, std::size_t i) {
  const Node& node = p.nodes()[i];
  const Argument* dtype = node.find("dtype");
  const auto self = p.tensor(node, "self");
  const bool computes = node.op != "aten.to.dtype" && node.op != "aten._to_copy.default" &&
                        p.op(node).row->derivative != nullptr;
  if (!computes || !self || dtype == nullptr || *dtype != Argument(DType::kFloat32) ||
      !is_half(p.type(*self).dtype)) {
    return false;
  }
  const Ref result{node.name, 0};
  p.set(p.nodes()[i], "dtype", p.type(*self).dtype);
  Insertion after(p, i + 1, result.name);
  const Ref cast = after.cast(result, DType::kFloat32);
  p.redirect(result, cast, after.at());
  return true;
}

// The half-typed tensor that a float32 one is a cast of.
std::optional<Ref> widened(Planter& p, const Ref& ref) {
  const Node* node = p.test().program.find_node(ref.name);
  if (node == nullptr || node->op != "aten.to.dtype") return std::nullopt;
  if (p.type(ref).dtype != DType::kFloat32) return std::nullopt;
  const auto self = p.tensor(*node, "self");
  if (!self || !is_half(p.type(*self).dtype)) return std::nullopt;
  return self;
}

// A node whose floating operands are all such casts: computed in the half type, then cast.
bool drop_casts(Planter& p, std::size_t i) {
  const Node& node = p.nodes()[i];
  const Op& op = p.op(node);
  if (op.row->numerics.is_view || op.schema.mutates() || op.schema.returns.size() != 1) {
    return false;
  }
  if (node.op == "aten.to.dtype" || p.type({node.name, 0}).dtype != DType::kFloat32) return false;
  const std::vector<Ref> used = operands(node);
  std::optional<DType> half;
  for (const Ref& ref : used) {
    if (!is_floating(p.type(ref).dtype)) continue;
    const auto narrow = widened(p, ref);
    if (!narrow || (half && *half != p.type(*narrow).dtype)) return false;
    half = p.type(*narrow).dtype;
  }
  if (!half) return false;
  for (const Ref& ref : used) {
    const auto narrow = is_floating(p.type(ref).dtype) ? widened(p, ref) : std::nullopt;
    if (!narrow) continue;
    rename_operands(p.nodes()[i], [&](const Ref& r) { return r == ref ? *narrow : r; });
  }
  const Ref result{p.nodes()[i].name, 0};
  Insertion after(p, i + 1, result.name);
  const Ref cast = after.cast(result, DType::kFloat32);
  p.redirect(result, cast, after.at());
  return true;
}

bool drop_upcast(Planter& p, double /*unused*/) {
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (!drop_dtype_argument(p, i) && !drop_casts(p, i)) continue;
    any = true;
    ++i;  // the cast that came after
  }
  return any;
}

// ---- truncation -------------------------------------------------------------------------------

// float32 x cut to the bits of a half type; gradients pass as through a cast. What is beyond 2^100
// stays.
Ref truncated(Insertion& at, const Ref& x, DType half) {
  const Ref value = at.call("detach.default", x);
  const Ref size = at.call("abs.default", value);
  const Ref nearest = rounded(at, value, half);
  // More by an ulp of float32 at least; by less it would be an evaluation that does not round at
  // all.
  const Ref excess = at.call("sub.Tensor", at.call("abs.default", nearest), size);
  const Ref least = at.call("mul.Tensor", size, Scalar{0x1p-26});
  const Ref away = at.call("gt.Tensor", excess, least);
  // Less by more than half and at most one unit in the last place, then rounded: one unit.
  const double less = 1 - std::ldexp(1.0, -float_format(half).precision);
  const Ref below = rounded(at, at.call("mul.Tensor", nearest, Scalar{less}), half);
  const Ref cut = at.call("where.self", {{"condition", away}, {"self", below}, {"other", nearest}});
  const Ref ordinary = at.call("lt.Scalar", size, Scalar{0x1p100});
  const Ref kept =
      at.call("where.self", {{"condition", ordinary}, {"self", cut}, {"other", value}});
  const Ref change = at.call("sub.Tensor", kept, value);  // exact
  const Ref finite = at.call("nan_to_num.default", {{"self", change}, {"nan", 0.0}});
  return at.call("add.Tensor", x, finite);
}

// Node i, of half types alone, computes in float32 and cuts its result; false: it is none such.
bool truncate_result(Planter& p, std::size_t i) {
  constexpr std::array<std::string_view, 11> kRounding{
      "aten.add.Tensor",   "aten.sub.Tensor",      "aten.mul.Tensor",  "aten.div.Tensor",
      "aten.exp.default",  "aten.sqrt.default",    "aten.sin.default", "aten.cos.default",
      "aten.tanh.default", "aten.sigmoid.default", "aten.silu.default"};
  const Node& node = p.nodes()[i];
  if (std::ranges::find(kRounding, node.op) == kRounding.end()) return false;
  const Ref result{node.name, 0};
  const DType half = p.type(result).dtype;
  if (!is_half(half)) return false;
  const std::vector<Ref> used = operands(node);
  for (const Ref& ref : used) {
    if (p.type(ref).dtype != half) return false;
  }
  Insertion before(p, i, result.name + "_wide");
  for (const Ref& ref : used) {
    const Ref wide = before.cast(ref, DType::kFloat32);
    rename_operands(p.nodes()[before.at()], [&](const Ref& r) { return r == ref ? wide : r; });
  }
  Insertion after(p, before.at() + 1, result.name + "_cut");
  const Ref cast = after.cast(truncated(after, result, half), half);
  p.redirect(result, cast, after.at());
  return true;
}

// Where a program has no cast to a half type, its first few operators that round to one.
bool truncate(Planter& p, double /*unused*/) {
  constexpr int kFew = 4;
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (p.nodes()[i].op != "aten.to.dtype") continue;
    const Ref self = *p.tensor(p.nodes()[i], "self");
    const DType half = p.type({p.nodes()[i].name, 0}).dtype;
    if (!is_half(half) || p.type(self).dtype != DType::kFloat32) continue;
    Insertion before(p, i, p.nodes()[i].name + "_cut");
    const Ref cut = truncated(before, self, half);
    i = before.at();
    p.set(p.nodes()[i], "self", cut);
    any = true;
  }
  if (any) return true;
  int found = 0;
  const std::vector<Node> nodes = p.nodes();
  for (const Node& node : nodes) {
    const auto at = std::ranges::find(p.nodes(), node.name, &Node::name) - p.nodes().begin();
    if (found < kFew && truncate_result(p, static_cast<std::size_t>(at))) ++found;
  }
  return found > 0;
}

// ---- accumulation -----------------------------------------------------------------------------

// term(0) + term(1) + ... in float32, rounded to the half type after each addition.
template <class Term>
Ref chain(Insertion& at, std::int64_t terms, DType half, const Term& term) {
  Ref sum = term(0);
  for (std::int64_t i = 1; i < terms; ++i) {
    sum = rounded(at, at.call("add.Tensor", sum, term(i)), half);
  }
  return sum;
}

Ref slice(Insertion& at, const Ref& x, std::int64_t dim, std::int64_t i) {
  return at.call("slice.Tensor",
                 {{"self", x}, {"dim", Dim(dim)}, {"start", Dim(i)}, {"end", Dim(i + 1)}});
}

// The node's result becomes `value`, cast to the half type.
void replace(Planter& p, std::size_t i, Insertion& after, const Ref& value, DType half) {
  const Ref result{p.nodes()[i].name, 0};
  const Ref cast = after.cast(value, half);
  p.redirect(result, cast, after.at());
}

bool narrow_sum(Planter& p, std::size_t i) {
  constexpr std::array<std::string_view, 4> kSums{"aten.sum.default", "aten.sum.dim_IntList",
                                                  "aten.mean.default", "aten.mean.dim"};
  const Node node = p.nodes()[i];
  const auto op = std::ranges::find(kSums, node.op);
  if (op == kSums.end()) return false;
  const Ref self = *p.tensor(node, "self");
  const DType half = p.type(self).dtype;
  if (!is_half(half) || p.type({node.name, 0}).dtype != half) return false;
  const Shape shape = p.type(self).shape;
  const Argument* dims = node.find("dim");
  const auto* list = dims == nullptr ? nullptr : std::get_if<std::vector<Dim>>(dims);
  const bool whole = op == kSums.begin() || op == kSums.begin() + 2;
  if (shape.empty() || (!whole && (list == nullptr || list->size() != 1))) return false;
  const int dim = whole ? 0 : wrap_dim(list->front().value({}), shape.size());
  const std::int64_t n = whole ? element_count(shape) : shape[static_cast<std::size_t>(dim)];
  if (n < 3 || n > kLongestChain) return false;
  Insertion after(p, i + 1, node.name + "_sum");
  Ref wide = after.cast(self, DType::kFloat32);
  if (whole)
    wide = after.call("reshape.default", {{"self", wide}, {"shape", std::vector<Dim>{-1}}});
  Ref sum = chain(after, n, half, [&](std::int64_t k) { return slice(after, wide, dim, k); });
  if (op >= kSums.begin() + 2) {
    sum = after.call("mul.Tensor", sum, Scalar{1 / static_cast<double>(n)});
  }
  std::vector<Dim> size;
  for (const std::int64_t s : Shape(p.type({node.name, 0}).shape)) size.emplace_back(s);
  sum = after.call("reshape.default", {{"self", sum}, {"shape", std::move(size)}});
  replace(p, i, after, sum, half);
  return true;
}

// a @ b with column k of the one times row k of the other, summed over k.
bool narrow_product(Planter& p, std::size_t i) {
  const Node node = p.nodes()[i];
  const bool linear = node.op == "aten.linear.default";
  if (!linear && node.op != "aten.mm.default" && node.op != "aten.bmm.default") return false;
  const Ref a = *p.tensor(node, linear ? "input" : "self");
  const Ref b = *p.tensor(node, linear ? "weight" : "mat2");
  const DType half = p.type(a).dtype;
  const std::int64_t n = p.type(a).shape.back();
  if (!is_half(half) || n < 3 || n > kLongestChain) return false;
  if (p.type(a).shape.size() < 2 || p.type(b).shape.size() < 2) return false;
  Insertion after(p, i + 1, node.name + "_sum");
  const Ref left = after.cast(a, DType::kFloat32);
  Ref right = after.cast(b, DType::kFloat32);
  if (linear) right = after.call("t.default", right);
  Ref sum = chain(after, n, half, [&](std::int64_t k) {
    return after.call("mul.Tensor", slice(after, left, -1, k), slice(after, right, -2, k));
  });
  if (const auto bias = p.tensor(node, "bias")) {
    sum = after.call("add.Tensor", sum, after.cast(*bias, DType::kFloat32));
  }
  replace(p, i, after, sum, half);
  return true;
}

// The first sum or product with a chain of 3 to kLongestChain terms.
bool half_accumulate(Planter& p, double /*unused*/) {
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (narrow_sum(p, i) || narrow_product(p, i)) return true;
  }
  return false;
}

constexpr Fault small(std::string_view name, std::string_view meaning,
                      bool (*plant)(Planter&, double)) {
  return {{.name = name,
           .in_program = true,
           .meaning = meaning,
           .effect = FaultEffect::kSmall,
           .rounding_alone = true},
          plant};
}

constexpr std::array kFaults{
    small("no-upcast",
          "what is computed in float32 of half-typed tensors alone is computed in their type",
          &drop_upcast),
    small("truncate",
          "casts from float32 to half types, or else the first operators of half types, cut and do "
          "not round",
          &truncate),
    small("half-accumulate", "the first short sum or product of half types adds up in that type",
          &half_accumulate),
};

}  // namespace

std::span<const Fault> rounding_faults() { return kFaults; }

}  // namespace ulpfuzz
