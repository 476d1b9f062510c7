#include <algorithm>
#include <array>

#include "systems/fault_families.h"
#include "systems/fault_planter.h"

// Reductions: over another axis, with another divisor, of ties the last.
namespace ulpfuzz {
namespace {

template <std::size_t kSize>
bool is_one_of(const Node& node, const std::array<std::string_view, kSize>& ops) {
  return std::ranges::find(ops, node.op) != ops.end();
}

// The one dimension that `dim` names, in [0, rank); -1 for none or several, and of a scalar.
int only_dim(const Node& node, std::size_t rank) {
  const Argument* given = node.find("dim");
  if (given == nullptr || rank == 0) return -1;
  if (const auto* dims = std::get_if<std::vector<Dim>>(given)) {
    return dims->size() == 1 ? wrap_dim(dims->front().value({}), rank) : -1;
  }
  const auto* dim = std::get_if<Dim>(given);
  return dim != nullptr ? wrap_dim(dim->value({}), rank) : -1;
}

// Another dimension than `dim`, the nearest before it first, that `fits`; -1: none.
template <class Fits>
int other_dim(const Shape& shape, int dim, const Fits& fits) {
  const int rank = static_cast<int>(shape.size());
  for (int step = 1; step < rank; ++step) {
    const int other = (dim + rank - step) % rank;
    if (fits(shape[static_cast<std::size_t>(other)])) return other;
  }
  return -1;
}

// Results of the operand's shape go along another dimension; reductions over one of a square take
// the other.
bool wrong_axis(Planter& p, double /*unused*/) {
  constexpr std::array<std::string_view, 4> kAlong{"aten.softmax.int", "aten.log_softmax.int",
                                                   "aten.cumsum.default", "aten.cumprod.default"};
  constexpr std::array<std::string_view, 13> kOver{"aten.sum.dim_IntList",
                                                   "aten.mean.dim",
                                                   "aten.amax.default",
                                                   "aten.amin.default",
                                                   "aten.var.correction",
                                                   "aten.std.correction",
                                                   "aten.prod.dim_int",
                                                   "aten.argmax.default",
                                                   "aten.argmin.default",
                                                   "aten.max.dim",
                                                   "aten.min.dim",
                                                   "aten.logsumexp.default",
                                                   "aten.linalg_vector_norm.default"};
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    const bool along = is_one_of(p.nodes()[i], kAlong);
    if (!along && !is_one_of(p.nodes()[i], kOver)) continue;
    const Ref self = *p.tensor(p.nodes()[i], "self");
    const Shape shape = p.type(self).shape;
    const int dim = only_dim(p.nodes()[i], shape.size());
    if (dim < 0 || element_count(shape) == 0) continue;
    const std::int64_t size = shape[static_cast<std::size_t>(dim)];
    const int other = other_dim(shape, dim, [&](std::int64_t n) {
      return along ? n > 1 || size > 1 : n == size && size > 1;
    });
    if (other < 0) continue;
    if (along) {
      p.set(p.nodes()[i], "dim", Dim(other));
    } else {
      const Ref turned = p.insert(i, p.nodes()[i].name + "_turned", "transpose.int",
                                  {{"self", self}, {"dim0", Dim(dim)}, {"dim1", Dim(other)}});
      p.set(p.nodes()[++i], "self", turned);
    }
    any = true;
  }
  return any;
}

// n - 1 - (index in the flipped operand).
bool ties_last(Planter& p, double /*unused*/) {
  constexpr std::array<std::string_view, 2> kFlat{"aten.argmax.default", "aten.argmin.default"};
  constexpr std::array<std::string_view, 2> kPair{"aten.max.dim", "aten.min.dim"};
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    const bool pair = is_one_of(p.nodes()[i], kPair);
    if (!pair && !is_one_of(p.nodes()[i], kFlat)) continue;
    const Node node = p.nodes()[i];
    const Ref self = *p.tensor(node, "self");
    const Shape shape = p.type(self).shape;
    if (shape.empty() || element_count(shape) < 2) continue;
    const int dim = only_dim(node, shape.size());
    const Argument* keeps = node.find("keepdim");
    if (dim < 0 && keeps != nullptr && *keeps == Argument(true)) continue;
    const std::int64_t n = dim < 0 ? element_count(shape) : shape[static_cast<std::size_t>(dim)];
    Insertion after(p, i + 1, node.name + "_last");
    const Ref line =
        dim < 0 ? after.call("reshape.default", {{"self", self}, {"shape", std::vector<Dim>{-1}}})
                : self;
    const Ref flipped =
        after.call("flip.default", {{"self", line}, {"dims", std::vector<Dim>{std::max(dim, 0)}}});
    std::vector<NamedArgument> args = node.args;
    for (NamedArgument& arg : args) {
      if (arg.name == "self") arg.value = flipped;
    }
    Ref index = after.call(node.op.substr(std::string_view("aten.").size()), std::move(args));
    index.output = pair ? 1 : 0;
    const Ref turned = after.call("mul.Tensor", index, Scalar{std::int64_t{-1}});
    const Ref last = after.call("add.Tensor", turned, Scalar{n - 1});
    p.redirect({node.name, index.output}, last, after.at());
    i = after.at() - 1;
    any = true;
  }
  return any;
}

bool drop_correction(Planter& p, double /*unused*/) {
  constexpr std::array<std::string_view, 2> kMoments{"aten.var.correction", "aten.std.correction"};
  bool any = false;
  for (Node& node : p.nodes()) {
    if (!is_one_of(node, kMoments)) continue;
    const Argument* given = node.find("correction");
    const auto* number = given == nullptr ? nullptr : std::get_if<Scalar>(given);
    if (number != nullptr && number->as_double() == 0) continue;
    p.set(node, "correction", Scalar{std::int64_t{0}});
    any = true;
  }
  return any;
}

constexpr std::array kFaults{
    Fault{{.name = "wrong-axis",
           .in_program = true,
           .meaning = "softmax and sums so far go along another dimension; a reduction over one of "
                      "two equal ones takes the other"},
          &wrong_axis},
    Fault{{.name = "ties-last",
           .in_program = true,
           .meaning = "of equal extrema the index is the last one's, not the first one's"},
          &ties_last},
    Fault{{.name = "no-correction",
           .in_program = true,
           .meaning = "variances are divided by n in place of n - 1"},
          &drop_correction},
};

}  // namespace

std::span<const Fault> reduce_faults() { return kFaults; }

}  // namespace ulpfuzz
