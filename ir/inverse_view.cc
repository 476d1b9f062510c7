#include "ir/inverse_view.h"

#include <algorithm>
#include <array>

namespace ulpfuzz {
namespace {

using Arguments = std::vector<NamedArgument>;

Arguments with(const Node& view, Arguments first, std::initializer_list<std::string_view> kept) {
  for (const std::string_view arg : kept) {
    if (const Argument* given = view.find(arg)) first.push_back({std::string(arg), *given});
  }
  return first;
}

Arguments select(const Call& view, const Ref& base, const Ref& written) {
  return with(view.node(), {{"self", base}, {"src", written}}, {"dim", "index"});
}

Arguments slice(const Call& view, const Ref& base, const Ref& written) {
  return with(view.node(), {{"self", base}, {"src", written}}, {"dim", "start", "end", "step"});
}

Arguments narrow(const Call& view, const Ref& base, const Ref& written) {
  const Shape& shape = view.tensor("self").shape;
  const auto dim = static_cast<std::size_t>(wrap_dim(view.integer("dim"), shape.size()));
  std::int64_t start = view.integer("start");
  if (start < 0) start += shape[dim];
  return with(view.node(),
              {{"self", base},
               {"src", written},
               {"start", Dim(start)},
               {"end", Dim(start + view.integer("length"))}},
              {"dim"});
}

Arguments diagonal(const Call& view, const Ref& base, const Ref& written) {
  return with(view.node(), {{"self", base}, {"src", written}}, {"offset", "dim1", "dim2"});
}

Arguments transpose(const Call& view, const Ref&, const Ref& written) {
  return with(view.node(), {{"self", written}}, {"dim0", "dim1"});
}

Arguments t(const Call&, const Ref&, const Ref& written) { return {{"self", written}}; }

Arguments permute(const Call& view, const Ref&, const Ref& written) {
  const std::vector<std::int64_t> dims = view.integers("dims");
  std::vector<Dim> inverse(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    inverse[static_cast<std::size_t>(wrap_dim(dims[i], dims.size()))] =
        Dim(static_cast<std::int64_t>(i));
  }
  return {{"self", written}, {"dims", inverse}};
}

Arguments movedim(const Call& view, const Ref&, const Ref& written) {
  return {{"self", written},
          {"source", *view.node().find("destination")},
          {"destination", *view.node().find("source")}};
}

// Negative dimensions count in the larger of the two tensors on both ways.
Arguments unsqueeze(const Call& view, const Ref&, const Ref& written) {
  return with(view.node(), {{"self", written}, {"index", Dim(0)}}, {"dim"});
}

Arguments squeeze(const Call& view, const Ref&, const Ref& written) {
  const Shape& shape = view.tensor("self").shape;
  const auto dim = static_cast<std::size_t>(wrap_dim(view.integer("dim"), shape.size()));
  if (shape.empty() || shape[dim] != 1) return {};
  return with(view.node(), {{"self", written}}, {"dim"});
}

Arguments reshape(const Call& view, const Ref&, const Ref& written) {
  const Shape& shape = view.tensor("self").shape;
  return {{"self", written}, {"shape", std::vector<Dim>(shape.begin(), shape.end())}};
}

struct Inverse {
  std::string_view view;
  std::string_view back;
  Arguments (*arguments)(const Call& view, const Ref& base, const Ref& written);
};
constexpr std::array<Inverse, 12> kInverses{{
    {"aten.select.int", "aten.select_scatter.default", select},
    {"aten.slice.Tensor", "aten.slice_scatter.default", slice},
    {"aten.narrow.default", "aten.slice_scatter.default", narrow},
    {"aten.diagonal.default", "aten.diagonal_scatter.default", diagonal},
    {"aten.transpose.int", "aten.transpose.int", transpose},
    {"aten.t.default", "aten.t.default", t},
    {"aten.permute.default", "aten.permute.default", permute},
    {"aten.movedim.int", "aten.movedim.int", movedim},
    {"aten.unsqueeze.default", "aten.select.int", unsqueeze},
    {"aten.squeeze.dim", "aten.unsqueeze.default", squeeze},
    {"aten.view.default", "aten.reshape.default", reshape},
    {"aten.unflatten.int", "aten.reshape.default", reshape},
}};

const Inverse* find(std::string_view view_op) {
  const auto* found = std::find_if(kInverses.begin(), kInverses.end(),
                                   [&](const Inverse& inverse) { return inverse.view == view_op; });
  return found == kInverses.end() ? nullptr : found;
}

}  // namespace

std::string inverse_view(std::string_view view_op, const OpTable& table) {
  const Inverse* inverse = find(view_op);
  if (inverse == nullptr || table.find(inverse->back) == nullptr) return "";
  return std::string(inverse->back);
}

std::vector<NamedArgument> inverse_arguments(const Call& view, const Ref& base,
                                             const Ref& written) {
  const Inverse* inverse = find(view.op().name());
  if (inverse == nullptr) view.fail("the view has no inverse");
  return inverse->arguments(view, base, written);
}

}  // namespace ulpfuzz
