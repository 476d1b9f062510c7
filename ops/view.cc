#include <algorithm>
#include <numeric>

#include "ops/families.h"
#include "ops/movement.h"

// Views: the result shares the operand's storage, whatever its layout.
namespace ulpfuzz {

Layout select_layout(const Call& call, const Layout& self) {
  if (self.shape.empty()) call.fail("select needs at least one dimension");
  const int dim = wrap_dim(call.integer("dim"), self.shape.size());
  const std::int64_t size = self.shape[static_cast<std::size_t>(dim)];
  std::int64_t index = call.integer("index");
  if (index < -size || index >= size) call.fail("index is out of range");
  if (index < 0) index += size;
  Layout layout = cut(self, dim, index, 1);
  layout.shape.erase(layout.shape.begin() + dim);
  layout.strides.erase(layout.strides.begin() + dim);
  return layout;
}

// Bounds are clamped as Python's slices clamp them (ATen/native/TensorShape.cpp, slice).
Layout slice_layout(const Call& call, const Layout& self) {
  if (self.shape.empty()) call.fail("slice needs at least one dimension");
  const int dim = wrap_dim(call.integer("dim"), self.shape.size());
  const std::int64_t size = self.shape[static_cast<std::size_t>(dim)];
  const std::int64_t step = call.integer("step");
  if (step <= 0) call.fail("step must be positive");
  std::int64_t start = call.given("start") ? call.integer("start") : 0;
  std::int64_t end = call.given("end") ? call.integer("end") : size;
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp(start, std::int64_t{0}, size);
  end = std::clamp(end, start, size);
  return cut(self, dim, start, (end - start + step - 1) / step, step);
}

Layout diagonal_layout(const Call& call, const Layout& self) {
  const std::int64_t offset = call.integer("offset");
  const auto dim1 = static_cast<std::size_t>(wrap_dim(call.integer("dim1"), self.shape.size()));
  const auto dim2 = static_cast<std::size_t>(wrap_dim(call.integer("dim2"), self.shape.size()));
  if (self.shape.size() < 2 || dim1 == dim2) call.fail("a diagonal needs two dimensions");
  const std::int64_t rows = self.shape[dim1] - std::max(-offset, std::int64_t{0});
  const std::int64_t columns = self.shape[dim2] - std::max(offset, std::int64_t{0});
  const std::int64_t length = std::max(std::min(rows, columns), std::int64_t{0});
  Layout layout{{}, {}, self.offset};
  if (length > 0) {
    layout.offset += std::max(offset, std::int64_t{0}) * self.strides[dim2] +
                     std::max(-offset, std::int64_t{0}) * self.strides[dim1];
  }
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    if (i == dim1 || i == dim2) continue;
    layout.shape.push_back(self.shape[i]);
    layout.strides.push_back(self.strides[i]);
  }
  layout.shape.push_back(length);
  layout.strides.push_back(self.strides[dim1] + self.strides[dim2]);
  return layout;
}

namespace {

Layout permuted(const Layout& self, const std::vector<int>& order) {
  Layout layout{{}, {}, self.offset};
  for (const int dim : order) {
    layout.shape.push_back(self.shape[static_cast<std::size_t>(dim)]);
    layout.strides.push_back(self.strides[static_cast<std::size_t>(dim)]);
  }
  return layout;
}

Layout swapped(const Layout& self, int dim0, int dim1) {
  std::vector<int> order(self.shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty())
    std::swap(order[static_cast<std::size_t>(dim0)], order[static_cast<std::size_t>(dim1)]);
  return permuted(self, order);
}

Layout transpose_layout(const Call& call, const Layout& self) {
  const std::size_t rank = self.shape.size();
  return swapped(self, wrap_dim(call.integer("dim0"), rank), wrap_dim(call.integer("dim1"), rank));
}

Layout t_layout(const Call& call, const Layout& self) {
  if (self.shape.size() > 2) call.fail("t takes at most two dimensions");
  return self.shape.size() < 2 ? self : swapped(self, 0, 1);
}

std::vector<int> permutation(const Call& call, std::size_t rank) {
  const std::vector<std::int64_t> dims = call.integers("dims");
  if (dims.size() != rank) call.fail("dims must name each dimension once");
  return distinct_dims(call, dims, rank);
}

Layout permute_layout(const Call& call, const Layout& self) {
  return permuted(self, permutation(call, self.shape.size()));
}

Layout movedim_layout(const Call& call, const Layout& self) {
  const std::size_t rank = self.shape.size();
  if (rank == 0) return self;
  const int source = wrap_dim(call.integer("source"), rank);
  const int destination = wrap_dim(call.integer("destination"), rank);
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + source);
  order.insert(order.begin() + destination, source);
  return permuted(self, order);
}

Layout unsqueeze_layout(const Call& call, const Layout& self) {
  const int dim = wrap_dim(call.integer("dim"), self.shape.size() + 1);
  const auto at = static_cast<std::size_t>(dim);
  const std::int64_t stride =
      at < self.shape.size() ? self.shape[at] * self.strides[at] : std::int64_t{1};
  Layout layout = self;
  layout.shape.insert(layout.shape.begin() + dim, 1);
  layout.strides.insert(layout.strides.begin() + dim, stride);
  return layout;
}

Layout squeeze_layout(const Call& call, const Layout& self) {
  const int dim = wrap_dim(call.integer("dim"), self.shape.size());
  Layout layout = self;
  if (!self.shape.empty() && self.shape[static_cast<std::size_t>(dim)] == 1) {
    layout.shape.erase(layout.shape.begin() + dim);
    layout.strides.erase(layout.strides.begin() + dim);
  }
  return layout;
}

Layout expand_layout(const Call& call, const Layout& self) {
  const std::vector<std::int64_t> sizes = call.integers("size");
  const std::size_t rank = self.shape.size();
  if (sizes.size() < rank) call.fail("expand names fewer sizes than there are dimensions");
  const std::size_t added = sizes.size() - rank;
  Layout layout{sizes, Shape(sizes.size(), 0), self.offset};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t& size = layout.shape[i];
    if (i < added) {
      if (size < 0) call.fail("a size of -1 names no dimension");
      continue;
    }
    const std::int64_t own = self.shape[i - added];
    if (size == -1) size = own;
    if (size < 0 || (own != 1 && size != own)) call.fail("only dimensions of size 1 expand");
    if (size == own) layout.strides[i] = self.strides[i - added];
  }
  return layout;
}

Layout narrow_layout(const Call& call, const Layout& self) {
  if (self.shape.empty()) call.fail("narrow needs at least one dimension");
  const int dim = wrap_dim(call.integer("dim"), self.shape.size());
  const std::int64_t size = self.shape[static_cast<std::size_t>(dim)];
  std::int64_t start = call.integer("start");
  const std::int64_t length = call.integer("length");
  if (start < -size || start > size) call.fail("start is out of range");
  if (start < 0) start += size;
  if (length < 0 || start + length > size) call.fail("length is out of range");
  return cut(self, dim, start, length);
}

Layout same_layout(const Call& /*call*/, const Layout& self) { return self; }

// Splitting a dimension is a view in any layout.
Layout unflatten_layout(const Call& call, const Layout& self) {
  if (self.shape.empty()) call.fail("unflatten needs at least one dimension");
  const auto at = static_cast<std::size_t>(wrap_dim(call.integer("dim"), self.shape.size()));
  const std::vector<std::int64_t> sizes = call.integers("sizes");
  if (sizes.empty()) call.fail("sizes must not be empty");
  const Shape split = resolve_shape(call, sizes, self.shape[at]);
  Layout layout{{}, {}, self.offset};
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    if (i != at) {
      layout.shape.push_back(self.shape[i]);
      layout.strides.push_back(self.strides[i]);
      continue;
    }
    const Shape inner = contiguous_strides(split);
    for (std::size_t j = 0; j < split.size(); ++j) {
      layout.shape.push_back(split[j]);
      layout.strides.push_back(inner[j] * self.strides[i]);
    }
  }
  return layout;
}

// Derivatives.

void swap_back(Backward& b, std::int64_t dim0, std::int64_t dim1) {
  b.contribute("self", b.emit("aten.transpose.int",
                              {{"self", b.gradient()}, {"dim0", Dim(dim0)}, {"dim1", Dim(dim1)}}));
}

void derive_transpose(Backward& b) {
  swap_back(b, b.call().integer("dim0"), b.call().integer("dim1"));
}

void derive_t(Backward& b) {
  b.contribute("self", b.emit("aten.t.default", {{"self", b.gradient()}}));
}

void derive_permute(Backward& b) {
  const std::vector<int> order = permutation(b.call(), b.call().tensor("self").shape.size());
  std::vector<Dim> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<std::size_t>(order[i])] = Dim(static_cast<std::int64_t>(i));
  }
  b.contribute("self", b.emit("aten.permute.default", {{"self", b.gradient()}, {"dims", inverse}}));
}

void derive_movedim(Backward& b) {
  b.contribute("self",
               b.emit("aten.movedim.int", {{"self", b.gradient()},
                                           {"source", Dim(b.call().integer("destination"))},
                                           {"destination", Dim(b.call().integer("source"))}}));
}

void derive_expand(Backward& b) { b.contribute("self", b.gradient()); }

void derive_select(Backward& b) {
  b.contribute(
      "self", b.emit("aten.select_scatter.default", {{"self", zeros_of(b, b.type(b.input("self")))},
                                                     {"src", b.gradient()},
                                                     {"dim", Dim(b.call().integer("dim"))},
                                                     {"index", Dim(b.call().integer("index"))}}));
}

// The gradient of `self` for a view that keeps [start, start + length * step) of `dim`.
void spread_back(Backward& b, int dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  b.contribute("self",
               b.emit("aten.slice_scatter.default", {{"self", zeros_of(b, b.type(b.input("self")))},
                                                     {"src", b.gradient()},
                                                     {"dim", Dim(dim)},
                                                     {"start", Dim(start)},
                                                     {"end", Dim(end)},
                                                     {"step", Dim(step)}}));
}

void derive_slice(Backward& b) {
  const Call& call = b.call();
  const Shape& shape = call.tensor("self").shape;
  const int dim = wrap_dim(call.integer("dim"), shape.size());
  const Layout layout = slice_layout(call, {shape, contiguous_strides(shape), 0});
  const std::int64_t stride = contiguous_strides(shape)[static_cast<std::size_t>(dim)];
  const std::int64_t start = stride == 0 ? 0 : layout.offset / stride;
  const std::int64_t end =
      call.given("end") ? call.integer("end") : shape[static_cast<std::size_t>(dim)];
  spread_back(b, dim, start, end, call.integer("step"));
}

void derive_narrow(Backward& b) {
  const Shape& shape = b.call().tensor("self").shape;
  const int dim = wrap_dim(b.call().integer("dim"), shape.size());
  std::int64_t start = b.call().integer("start");
  if (start < 0) start += shape[static_cast<std::size_t>(dim)];
  spread_back(b, dim, start, start + b.call().integer("length"), 1);
}

void derive_diagonal(Backward& b) {
  b.contribute("self", b.emit("aten.diagonal_scatter.default",
                              {{"self", zeros_of(b, b.type(b.input("self")))},
                               {"src", b.gradient()},
                               {"offset", Dim(b.call().integer("offset"))},
                               {"dim1", Dim(b.call().integer("dim1"))},
                               {"dim2", Dim(b.call().integer("dim2"))}}));
}

// Random calls.

// Mostly two distinct dimensions; the innermost two often, as people write it for matmul.
bool draw_transpose(Draw& d) {
  const Ref self = d.operand({.min_rank = 2});
  const auto rank = static_cast<std::int64_t>(d.type(self).shape.size());
  std::int64_t dim0 = -2;
  std::int64_t dim1 = -1;
  if (d.random().chance(0.5)) {
    dim0 = d.random().integer(0, rank - 1);
    dim1 = (dim0 + d.random().integer(1, rank - 1)) % rank;
  }
  return d.call({{"self", self}, {"dim0", Dim(dim0)}, {"dim1", Dim(dim1)}});
}

bool draw_t(Draw& d) {
  return d.call({{"self", d.operand({.min_rank = d.random().chance(0.9) ? 2 : 0, .max_rank = 2})}});
}

bool draw_permute(Draw& d) {
  const Ref self = d.operand({.min_rank = 2});
  const std::size_t rank = d.type(self).shape.size();
  std::vector<Dim> dims;
  if (rank == 4 && d.random().chance(0.4)) {
    // What models write: channels last and back, heads before positions, keys transposed.
    static const std::vector<std::vector<std::int64_t>> kCommon = {
        {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 2, 1, 3}, {0, 1, 3, 2}};
    for (const std::int64_t dim : d.random().pick(kCommon)) dims.emplace_back(dim);
  } else {
    for (std::size_t i = 0; i < rank; ++i) dims.emplace_back(static_cast<std::int64_t>(i));
    for (std::size_t i = rank; i > 1; --i) {
      const auto j = static_cast<std::size_t>(d.random().integer(0, static_cast<int>(i) - 1));
      std::swap(dims[i - 1], dims[j]);
    }
  }
  return d.call({{"self", self}, {"dims", dims}});
}

bool draw_movedim(Draw& d) {
  const Ref self = d.operand({.min_rank = 2});
  return d.call({{"self", self}, {"source", Dim(d.dim(self))}, {"destination", Dim(d.dim(self))}});
}

bool draw_unsqueeze(Draw& d) {
  const Ref self = d.operand({.max_rank = 4});
  const auto rank = static_cast<std::int64_t>(d.type(self).shape.size());
  return d.call({{"self", self}, {"dim", Dim(d.random().integer(-rank - 1, rank))}});
}

bool draw_squeeze(Draw& d) {
  const bool any_one = d.random().chance(0.9);
  const Ref self =
      d.operand({.min_rank = 1, .also = [any_one](const TensorType& type) {
                   return !any_one || std::count(type.shape.begin(), type.shape.end(), 1) > 0;
                 }});
  const Shape& shape = d.type(self).shape;
  std::vector<std::int64_t> ones;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) ones.push_back(static_cast<std::int64_t>(i));
  }
  const std::int64_t dim = ones.empty() ? d.dim(self) : d.random().pick(ones);
  return d.call({{"self", self}, {"dim", Dim(dim)}});
}

// A tensor with a dimension that has elements, and that dimension.
std::pair<Ref, int> some_filled_dim(Draw& d) {
  const Ref self = d.operand({.min_rank = 1, .also = [](const TensorType& type) {
                                return element_count(type.shape) > 0;
                              }});
  return {self, d.dim(self)};
}

std::int64_t size_at(const Draw& d, const Ref& ref, int dim) {
  const Shape& shape = d.type(ref).shape;
  return shape[static_cast<std::size_t>(wrap_dim(dim, shape.size()))];
}

bool draw_select(Draw& d) {
  const auto [self, dim] = some_filled_dim(d);
  const std::int64_t size = size_at(d, self, dim);
  return d.call({{"self", self},
                 {"dim", Dim(dim)},
                 {"index", Dim(d.random().integer(d.random().chance(0.2) ? -size : 0, size - 1))}});
}

bool draw_slice(Draw& d) {
  const auto [self, dim] = some_filled_dim(d);
  const std::int64_t size = size_at(d, self, dim);
  std::vector<NamedArgument> args = {{"self", self}, {"dim", Dim(dim)}};
  const std::int64_t start = d.random().integer(0, size - 1);
  if (d.random().chance(0.7)) {
    args.push_back({"start", Dim(d.random().chance(0.2) ? start - size : start)});
    if (d.random().chance(0.6)) {
      args.push_back({"end", Dim(d.random().integer(start + 1, size))});
      if (d.random().chance(0.4)) args.push_back({"step", Dim(d.random().integer(2, 3))});
    }
  } else {
    args.push_back({"start", Dim(0)});
    args.push_back({"end", Dim(size)});
    args.push_back({"step", Dim(d.random().integer(2, 3))});
  }
  return d.call(std::move(args));
}

bool draw_narrow(Draw& d) {
  const auto [self, dim] = some_filled_dim(d);
  const std::int64_t size = size_at(d, self, dim);
  const std::int64_t start = d.random().integer(0, size - 1);
  return d.call({{"self", self},
                 {"dim", Dim(dim)},
                 {"start", Dim(start)},
                 {"length", Dim(d.random().integer(1, size - start))}});
}

bool draw_expand(Draw& d) {
  const Ref self = d.operand({.max_rank = 4});
  const Shape& shape = d.type(self).shape;
  std::vector<Dim> sizes;
  if (d.random().chance(0.4)) sizes.emplace_back(d.random().integer(1, 4));
  for (const std::int64_t size : shape) {
    if (size == 1) {
      sizes.emplace_back(d.random().integer(1, 5));
    } else {
      sizes.emplace_back(d.random().chance(0.3) ? std::int64_t{-1} : size);
    }
  }
  return d.call({{"self", self}, {"size", sizes}});
}

bool draw_diagonal(Draw& d) {
  const Ref self = d.operand({.min_rank = 2});
  const auto rank = static_cast<std::int64_t>(d.type(self).shape.size());
  std::vector<NamedArgument> args = {{"self", self}};
  if (d.random().chance(0.6)) {
    args.push_back({"offset", Dim(d.random().integer(-2, 2))});
    const std::int64_t dim1 = d.random().integer(0, rank - 1);
    args.push_back({"dim1", Dim(dim1)});
    args.push_back({"dim2", Dim((dim1 + d.random().integer(1, rank - 1)) % rank)});
  }
  return d.call(std::move(args));
}

// A dimension split into two factors, as heads are split off.
bool draw_unflatten(Draw& d) {
  const auto [self, dim] = some_filled_dim(d);
  const std::int64_t size = size_at(d, self, dim);
  std::vector<std::int64_t> factors;
  for (std::int64_t f = 1; f <= size; ++f) {
    if (size % f == 0) factors.push_back(f);
  }
  const std::int64_t outer = d.random().pick(factors);
  const std::int64_t inner = d.random().chance(0.3) ? std::int64_t{-1} : size / outer;
  return d.call({{"self", self}, {"dim", Dim(dim)}, {"sizes", std::vector<Dim>{outer, inner}}});
}

constexpr Numerics kView{.is_view = true};

constexpr OpRow kRows[] = {
    {.schema = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     .python = "torch.transpose",
     .infer = infer_view<transpose_layout>,
     .kernels = &kKernels<ViewKernel<transpose_layout>>,
     .derivative = derive_transpose,
     .draw = draw_transpose,
     .weight = 2,
     .numerics = kView},
    {.schema = "aten::t(Tensor(a) self) -> Tensor(a)",
     .python = ".t",
     .infer = infer_view<t_layout>,
     .kernels = &kKernels<ViewKernel<t_layout>>,
     .derivative = derive_t,
     .draw = draw_t,
     .weight = 1.5,
     .numerics = kView},
    {.schema = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
     .python = "torch.permute",
     .infer = infer_view<permute_layout>,
     .kernels = &kKernels<ViewKernel<permute_layout>>,
     .derivative = derive_permute,
     .draw = draw_permute,
     .weight = 2,
     .numerics = kView},
    {.schema = "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
     .python = "torch.movedim",
     .infer = infer_view<movedim_layout>,
     .kernels = &kKernels<ViewKernel<movedim_layout>>,
     .derivative = derive_movedim,
     .draw = draw_movedim,
     .weight = 0.7,
     .numerics = kView},
    {.schema = "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
     .python = "torch.unsqueeze",
     .infer = infer_view<unsqueeze_layout>,
     .kernels = &kKernels<ViewKernel<unsqueeze_layout>>,
     .derivative = derive_by_reshape,
     .draw = draw_unsqueeze,
     .numerics = kView},
    {.schema = "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
     .python = "torch.squeeze",
     .infer = infer_view<squeeze_layout>,
     .kernels = &kKernels<ViewKernel<squeeze_layout>>,
     .derivative = derive_by_reshape,
     .draw = draw_squeeze,
     .numerics = kView},
    {.schema = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     .python = "torch.select",
     .infer = infer_view<select_layout>,
     .kernels = &kKernels<ViewKernel<select_layout>>,
     .derivative = derive_select,
     .draw = draw_select,
     .numerics = kView},
    {.schema = "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, "
               "SymInt? end=None, SymInt step=1) -> Tensor(a)",
     .python = "{self}[{slice}]",
     .infer = infer_view<slice_layout>,
     .kernels = &kKernels<ViewKernel<slice_layout>>,
     .derivative = derive_slice,
     .draw = draw_slice,
     .weight = 2,
     .numerics = kView},
    {.schema = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     .python = ".expand",
     .infer = infer_view<expand_layout>,
     .kernels = &kKernels<ViewKernel<expand_layout>>,
     .derivative = derive_expand,
     .draw = draw_expand,
     .weight = 1.5,
     .numerics = kView},
    {.schema = "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
     .python = "torch.narrow",
     .infer = infer_view<narrow_layout>,
     .kernels = &kKernels<ViewKernel<narrow_layout>>,
     .derivative = derive_narrow,
     .draw = draw_narrow,
     .numerics = kView},
    {.schema = "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
     .python = "torch.diagonal",
     .infer = infer_view<diagonal_layout>,
     .kernels = &kKernels<ViewKernel<diagonal_layout>>,
     .derivative = derive_diagonal,
     .draw = draw_diagonal,
     .weight = 0.7,
     .numerics = kView},
    {.schema = "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
     .python = "torch.unflatten",
     .infer = infer_view<unflatten_layout>,
     .kernels = &kKernels<ViewKernel<unflatten_layout>>,
     .derivative = derive_by_reshape,
     .draw = draw_unflatten,
     .numerics = kView},
    // Gradients stop here. Not drawn: what it gives must not be written under autograd.
    {.schema = "aten::detach(Tensor(a) self) -> Tensor(a)",
     .python = ".detach",
     .infer = infer_view<same_layout>,
     .kernels = &kKernels<ViewKernel<same_layout>>,
     .weight = 0,
     .numerics = kView},
};

}  // namespace

std::span<const OpRow> view_rows() { return kRows; }

}  // namespace ulpfuzz
