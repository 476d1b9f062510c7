#include <algorithm>

#include "ops/families.h"
#include "ops/movement.h"

// Copies of elements to other places: results that share storage with no operand, or may
// (reshape, flatten, contiguous).
namespace ulpfuzz {
namespace {

// A copy of the operand's elements, in order, in the shape of the result.
struct CloneKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    k.out().view(self.shape(), contiguous_strides(self.shape()), k.out().offset()).assign(self);
  }
};

// The operand's elements, in order, in the shape of the result: its storage where they lie so.
struct ReshapeKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const Shape& shape = k.out().shape();
    if (self.is_contiguous()) {
      k.out() = self.view(shape, contiguous_strides(shape), self.offset());
    } else {
      CloneKernel::run(k);
    }
  }
};

std::vector<TensorType> infer_reshape(const Call& call) {
  const TensorType& self = call.tensor("self");
  return {{self.dtype, resolve_shape(call, call.integers("shape"), element_count(self.shape))}};
}

std::vector<TensorType> infer_flatten(const Call& call) {
  TensorType type = call.tensor("self");
  const std::size_t rank = type.shape.size();
  const int start = wrap_dim(call.integer("start_dim"), rank);
  const int end = wrap_dim(call.integer("end_dim"), rank);
  if (start > end) call.fail("start_dim comes after end_dim");
  if (rank == 0) {
    type.shape = {1};
  } else {
    const auto first = type.shape.begin() + start;
    const auto last = type.shape.begin() + end + 1;
    const std::int64_t size = element_count(Shape(first, last));
    type.shape.erase(first + 1, last);
    type.shape[static_cast<std::size_t>(start)] = size;
  }
  return {type};
}

std::vector<TensorType> infer_as_self(const Call& call) { return {call.tensor("self")}; }

std::vector<int> flipped_dims(const Call& call) {
  return distinct_dims(call, call.integers("dims"), call.tensor("self").shape.size());
}

std::vector<TensorType> infer_flip(const Call& call) {
  flipped_dims(call);
  return {call.tensor("self")};
}

struct FlipKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    if (self.size() == 0) return;
    Layout layout{self.shape(), self.strides(), self.offset()};
    if (self.rank() > 0) {
      for (const int dim : flipped_dims(k.call())) {
        const auto at = static_cast<std::size_t>(dim);
        layout.offset += (layout.shape[at] - 1) * layout.strides[at];
        layout.strides[at] = -layout.strides[at];
      }
    }
    k.out().assign(self.view(layout.shape, layout.strides, layout.offset));
  }
};

// By how much each dimension is rolled, in [0, size). Without dims the flattened tensor is rolled.
struct Roll {
  bool flat = false;
  Shape by;
};

Roll roll_of(const Call& call) {
  const Shape& shape = call.tensor("self").shape;
  const std::vector<std::int64_t> shifts = call.integers("shifts");
  const std::vector<std::int64_t> dims = call.integers("dims");
  if (shifts.empty()) call.fail("shifts must not be empty");
  const bool flat = dims.empty();
  if (flat ? shifts.size() != 1 : shifts.size() != dims.size()) {
    call.fail("there must be one shift for each of dims");
  }
  Roll roll{flat, Shape(flat ? 1 : shape.size(), 0)};
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    if (!flat && shape.empty()) call.fail("a tensor without dimensions is rolled without dims");
    const std::size_t dim = flat ? 0 : static_cast<std::size_t>(wrap_dim(dims[i], shape.size()));
    const std::int64_t size = flat ? element_count(shape) : shape[dim];
    if (size == 0) continue;
    roll.by[dim] = ((roll.by[dim] + shifts[i]) % size + size) % size;
  }
  return roll;
}

std::vector<TensorType> infer_roll(const Call& call) {
  roll_of(call);
  return {call.tensor("self")};
}

// Rolling a dimension by n moves its last n rows to the front: two copies a dimension.
struct RollKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Roll roll = roll_of(k.call());
    Tensor<T> from = k.in("self").contiguous();
    if (roll.flat) from = from.view({from.size()}, {1}, from.offset());
    for (std::size_t dim = 0; dim < roll.by.size(); ++dim) {
      if (roll.by[dim] == 0) continue;
      const Tensor<T> to(from.type());
      const std::int64_t rest = from.shape()[dim] - roll.by[dim];
      const int at = static_cast<int>(dim);
      part(to, at, roll.by[dim], rest).assign(part(from, at, 0, rest));
      part(to, at, 0, roll.by[dim]).assign(part(from, at, rest, roll.by[dim]));
      from = to;
    }
    const Shape& shape = k.out().shape();
    k.out().assign(from.view(shape, contiguous_strides(shape), from.offset()));
  }
};

std::vector<TensorType> infer_repeat(const Call& call) {
  TensorType type = call.tensor("self");
  const std::vector<std::int64_t> repeats = call.integers("repeats");
  if (repeats.size() < type.shape.size()) call.fail("there must be a repeat for each dimension");
  type.shape.insert(type.shape.begin(), repeats.size() - type.shape.size(), 1);
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 0) call.fail("a repeat is negative");
    type.shape[i] *= repeats[i];
  }
  return {type};
}

// (r0, s0, r1, s1, ...): the repeats and sizes of the result's dimensions.
Shape repeat_shape(const Shape& self, const std::vector<std::int64_t>& repeats) {
  const std::size_t added = repeats.size() - self.size();
  Shape shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    shape.push_back(repeats[i]);
    shape.push_back(i < added ? 1 : self[i - added]);
  }
  return shape;
}

struct RepeatKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const Shape shape = repeat_shape(self.shape(), k.call().integers("repeats"));
    Shape strides(shape.size(), 0);
    const std::size_t added = shape.size() / 2 - self.shape().size();
    for (std::size_t i = added; i < shape.size() / 2; ++i) {
      strides[2 * i + 1] = self.strides()[i - added];
    }
    k.out()
        .view(shape, contiguous_strides(shape), k.out().offset())
        .assign(self.view(shape, strides, self.offset()));
  }
};

std::vector<TensorType> infer_triangle(const Call& call) {
  if (call.tensor("self").shape.size() < 2) call.fail("needs at least two dimensions");
  return {call.tensor("self")};
}

template <bool kLower>
struct TriangleKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const std::int64_t diagonal = k.call().integer("diagonal");
    const int rank = self.rank();
    const std::int64_t rows = self.shape()[static_cast<std::size_t>(rank - 2)];
    const std::int64_t columns = self.shape()[static_cast<std::size_t>(rank - 1)];
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t edge =
          std::clamp<std::int64_t>(row + diagonal + (kLower ? 1 : 0), 0, columns);
      const std::int64_t start = kLower ? 0 : edge;
      const std::int64_t length = kLower ? edge : columns - edge;
      const auto kept = [&](const Tensor<T>& x) {
        return part(part(x, rank - 2, row, 1), rank - 1, start, length);
      };
      kept(k.out()).assign(kept(self));
    }
  }
};

// A copy of `self` with `src` in the place that a view rule names.
template <ViewRule kRule>
std::vector<TensorType> infer_scatter_view(const Call& call) {
  const TensorType& self = call.tensor("self");
  const Layout place = kRule(call, {self.shape, contiguous_strides(self.shape), 0});
  if (call.tensor("src").shape != place.shape) call.fail("src must have the shape of the view");
  if (is_complex(self.dtype) || is_complex(call.tensor("src").dtype)) {
    call.fail("complex tensors are not supported");
  }
  return {self};
}

template <ViewRule kRule>
struct ScatterViewKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    k.out().assign(k.in("self"));
    view_by(kRule, k.call(), k.out()).assign(k.in("src"));
  }
};

// Derivatives.

void derive_same(Backward& b) { b.contribute("self", b.gradient()); }

// The forward call with the gradient as its operand: linear operators that are their own adjoint.
void derive_self_adjoint(Backward& b) {
  Node node = b.call().node();
  for (NamedArgument& arg : node.args) {
    if (arg.name == "self") arg.value = b.gradient();
  }
  b.contribute("self", b.emit(node.op, node.args));
}

void derive_roll(Backward& b) {
  std::vector<Dim> shifts;
  for (const std::int64_t shift : b.call().integers("shifts")) shifts.emplace_back(-shift);
  std::vector<Dim> dims;
  for (const std::int64_t dim : b.call().integers("dims")) dims.emplace_back(dim);
  b.contribute("self", b.emit("aten.roll.default",
                              {{"self", b.gradient()}, {"shifts", shifts}, {"dims", dims}}));
}

// Dimensions that were added are summed one after another, as ATen does, then the repeats.
void derive_repeat(Backward& b) {
  const Shape& self = b.call().tensor("self").shape;
  const std::vector<std::int64_t> repeats = b.call().integers("repeats");
  const auto summed = [&](const Ref& x, std::vector<Dim> dims) {
    return b.emit("aten.sum.dim_IntList", {{"self", x}, {"dim", std::move(dims)}});
  };
  Ref g = b.gradient();
  const std::size_t added = repeats.size() - self.size();
  for (std::size_t i = 0; i < added; ++i) g = summed(g, {Dim(0)});
  if (self.empty()) return b.contribute("self", g);
  const std::vector<std::int64_t> own(repeats.begin() + static_cast<std::ptrdiff_t>(added),
                                      repeats.end());
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < own.size(); ++i) dims.emplace_back(static_cast<std::int64_t>(2 * i));
  b.contribute("self", summed(reshaped(b, g, repeat_shape(self, own)), dims));
}

// The forward call with `self` (and `src`) replaced, for scatters of views.
Ref scattered(Backward& b, const Ref& self, const Ref& src) {
  Node node = b.call().node();
  for (NamedArgument& arg : node.args) {
    if (arg.name == "self") arg.value = self;
    if (arg.name == "src") arg.value = src;
  }
  return b.emit(node.op, node.args);
}

template <const char* const& kView>
void derive_scatter_view(Backward& b) {
  if (b.needs("self")) {
    b.contribute("self", scattered(b, b.gradient(), zeros_of(b, b.type(b.input("src")))));
  }
  if (b.needs("src")) {
    std::vector<NamedArgument> args;
    for (const NamedArgument& arg : b.call().node().args) {
      if (arg.name == "self") {
        args.push_back({"self", b.gradient()});
      } else if (arg.name != "src") {
        args.push_back(arg);
      }
    }
    b.contribute("src", b.emit(kView, std::move(args)));
  }
}
constexpr const char* kSelect = "aten.select.int";
constexpr const char* kSlice = "aten.slice.Tensor";
constexpr const char* kDiagonal = "aten.diagonal.default";

// Random calls.

// Dimensions merged, split, flattened or with ones put in.
std::vector<Dim> draw_shape(Draw& d, const Shape& shape) {
  Shape sizes = shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const double kind = d.random().unit();
  if (kind < 0.2) return {Dim(-1)};
  if (kind < 0.5 && rank >= 2) {
    const auto at = static_cast<std::size_t>(d.random().integer(0, rank - 2));
    sizes[at] *= sizes[at + 1];
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  } else if (kind < 0.8 && rank >= 1) {
    const auto at = static_cast<std::size_t>(d.random().integer(0, rank - 1));
    std::vector<std::int64_t> factors;
    for (std::int64_t f = 1; f <= sizes[at]; ++f) {
      if (sizes[at] % f == 0) factors.push_back(f);
    }
    const std::int64_t outer = factors.empty() ? 1 : d.random().pick(factors);
    const std::int64_t inner = sizes[at] / outer;
    sizes[at] = outer;
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at) + 1, inner);
  } else if (rank >= 2) {
    std::swap(sizes.front(), sizes.back());
  } else {
    sizes.insert(sizes.begin(), 1);
  }
  std::vector<Dim> dims(sizes.begin(), sizes.end());
  if (element_count(sizes) > 0 && d.random().chance(0.3)) {
    dims[static_cast<std::size_t>(d.random().integer(0, static_cast<int>(dims.size()) - 1))] = -1;
  }
  return dims;
}

bool draw_reshape(Draw& d) {
  const Ref self = d.operand({.max_rank = 4});
  return d.call({{"self", self}, {"shape", draw_shape(d, d.type(self).shape)}});
}

bool draw_flatten(Draw& d) {
  const Ref self = d.operand({.min_rank = d.random().chance(0.95) ? 2 : 0});
  const auto rank = static_cast<std::int64_t>(d.type(self).shape.size());
  std::vector<NamedArgument> args = {{"self", self}};
  if (rank > 1 && d.random().chance(0.8)) {
    const std::int64_t start = d.random().integer(0, rank - 1);
    args.push_back({"start_dim", Dim(start)});
    if (d.random().chance(0.5))
      args.push_back({"end_dim", Dim(d.random().integer(start, rank - 1))});
  }
  return d.call(std::move(args));
}

bool draw_self(Draw& d) { return d.call({{"self", d.operand({.min_rank = 1})}}); }

bool draw_flip(Draw& d) {
  const Ref self = d.operand({.min_rank = 1});
  return d.call({{"self", self}, {"dims", d.some_dims(self)}});
}

bool draw_roll(Draw& d) {
  const Ref self = d.operand({.min_rank = 1});
  const std::vector<Dim> dims = d.random().chance(0.8) ? d.some_dims(self) : std::vector<Dim>{};
  std::vector<Dim> shifts;
  for (std::size_t i = 0; i < std::max(dims.size(), std::size_t{1}); ++i) {
    shifts.emplace_back(d.random().integer(-3, 3));
  }
  if (dims.empty()) return d.call({{"self", self}, {"shifts", shifts}});
  return d.call({{"self", self}, {"shifts", shifts}, {"dims", dims}});
}

bool draw_repeat(Draw& d) {
  const Ref self = d.operand({.max_rank = 4});
  std::vector<Dim> repeats;
  if (d.random().chance(0.25)) repeats.emplace_back(d.random().integer(1, 3));
  for (std::size_t i = 0; i < d.type(self).shape.size(); ++i) {
    repeats.emplace_back(d.random().chance(0.5) ? 1 : d.random().integer(2, 3));
  }
  if (repeats.empty()) repeats.emplace_back(2);
  return d.call({{"self", self}, {"repeats", repeats}});
}

bool draw_triangle(Draw& d) {
  std::vector<NamedArgument> args = {{"self", d.operand({.min_rank = 2})}};
  if (d.random().chance(0.6)) args.push_back({"diagonal", Dim(d.random().integer(-2, 2))});
  return d.call(std::move(args));
}

bool draw_select_scatter(Draw& d) {
  const Ref self = d.operand({.min_rank = 1});
  Shape shape = d.type(self).shape;
  const int dim = d.dim(self);
  const int at = wrap_dim(dim, shape.size());
  const std::int64_t size = shape[static_cast<std::size_t>(at)];
  if (size == 0) return false;
  shape.erase(shape.begin() + at);
  return d.call({{"self", self},
                 {"src", d.operand_of(d.type(self).dtype, shape)},
                 {"dim", Dim(dim)},
                 {"index", Dim(d.random().integer(-size, size - 1))}});
}

bool draw_slice_scatter(Draw& d) {
  const Ref self = d.operand({.min_rank = 1});
  Shape shape = d.type(self).shape;
  const int dim = d.dim(self);
  const auto at = static_cast<std::size_t>(wrap_dim(dim, shape.size()));
  const std::int64_t size = shape[at];
  if (size == 0) return false;
  const std::int64_t start = d.random().integer(0, size - 1);
  const std::int64_t end = d.random().integer(start + 1, size);
  const std::int64_t step = d.random().chance(0.3) ? 2 : 1;
  shape[at] = (end - start + step - 1) / step;
  return d.call({{"self", self},
                 {"src", d.operand_of(d.type(self).dtype, shape)},
                 {"dim", Dim(dim)},
                 {"start", Dim(start)},
                 {"end", Dim(end)},
                 {"step", Dim(step)}});
}

bool draw_diagonal_scatter(Draw& d) {
  const Ref self = d.operand({.min_rank = 2});
  const Shape& own = d.type(self).shape;
  const std::int64_t offset = d.random().integer(-1, 1);
  Shape shape(own.begin() + 2, own.end());
  shape.push_back(std::max<std::int64_t>(std::min(own[0] - std::max<std::int64_t>(-offset, 0),
                                                  own[1] - std::max<std::int64_t>(offset, 0)),
                                         0));
  return d.call(
      {{"self", self}, {"src", d.operand_of(d.type(self).dtype, shape)}, {"offset", Dim(offset)}});
}

constexpr OpRow kRows[] = {
    {.schema = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
     .python = "torch.reshape",
     .infer = infer_reshape,
     .kernels = &kKernels<ReshapeKernel>,
     .derivative = derive_by_reshape,
     .draw = draw_reshape,
     .weight = 2},
    {.schema = "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) "
               "-> Tensor(a)",
     .python = "torch.flatten",
     .infer = infer_flatten,
     .kernels = &kKernels<ReshapeKernel>,
     .derivative = derive_by_reshape,
     .draw = draw_flatten},
    {.schema = "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) "
               "-> Tensor(a)",
     .python = ".contiguous",
     .infer = infer_as_self,
     .kernels = &kKernels<ReshapeKernel>,
     .derivative = derive_same,
     .draw = draw_self},
    {.schema = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
     .python = "torch.clone",
     .infer = infer_as_self,
     .kernels = &kKernels<CloneKernel>,
     .derivative = derive_same,
     .draw = draw_self,
     .weight = 0.7},
    {.schema = "aten::flip(Tensor self, int[] dims) -> Tensor",
     .python = "torch.flip",
     .infer = infer_flip,
     .kernels = &kKernels<FlipKernel>,
     .derivative = derive_self_adjoint,
     .draw = draw_flip,
     .weight = 0.7},
    {.schema = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
     .python = "torch.roll",
     .infer = infer_roll,
     .kernels = &kKernels<RollKernel>,
     .derivative = derive_roll,
     .draw = draw_roll,
     .weight = 0.7},
    {.schema = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor",
     .python = ".repeat",
     .infer = infer_repeat,
     .kernels = &kKernels<RepeatKernel>,
     .derivative = derive_repeat,
     .draw = draw_repeat,
     .weight = 0.7},
    {.schema = "aten::tril(Tensor self, SymInt diagonal=0) -> Tensor",
     .python = "torch.tril",
     .infer = infer_triangle,
     .kernels = &kKernels<TriangleKernel<true>>,
     .derivative = derive_self_adjoint,
     .draw = draw_triangle,
     .weight = 0.7},
    {.schema = "aten::triu(Tensor self, SymInt diagonal=0) -> Tensor",
     .python = "torch.triu",
     .infer = infer_triangle,
     .kernels = &kKernels<TriangleKernel<false>>,
     .derivative = derive_self_adjoint,
     .draw = draw_triangle,
     .weight = 0.5},
    {.schema = "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
     .python = "torch.select_scatter",
     .infer = infer_scatter_view<select_layout>,
     .kernels = &kKernels<ScatterViewKernel<select_layout>>,
     .derivative = derive_scatter_view<kSelect>,
     .draw = draw_select_scatter,
     .weight = 0.5},
    {.schema = "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, "
               "SymInt? end=None, SymInt step=1) -> Tensor",
     .python = "torch.slice_scatter",
     .infer = infer_scatter_view<slice_layout>,
     .kernels = &kKernels<ScatterViewKernel<slice_layout>>,
     .derivative = derive_scatter_view<kSlice>,
     .draw = draw_slice_scatter,
     .weight = 0.5},
    {.schema = "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, "
               "int dim2=1) -> Tensor",
     .python = "torch.diagonal_scatter",
     .infer = infer_scatter_view<diagonal_layout>,
     .kernels = &kKernels<ScatterViewKernel<diagonal_layout>>,
     .derivative = derive_scatter_view<kDiagonal>,
     .draw = draw_diagonal_scatter,
     .weight = 0.4},
};

}  // namespace

std::span<const OpRow> rearrange_rows() { return kRows; }

}  // namespace ulpfuzz
