#include <algorithm>
#include <vector>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/indices.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "oracle/loops.h"

// Operators that take one tensor of indices along one dimension.
namespace ulpfuzz {
namespace {

int index_dim(const Call& call) {
  return wrap_dim(call.integer("dim"), call.tensor("self").shape.size());
}

// gather and scatter: the index has self's rank and is nowhere larger, but along `dim`.
void check_gather_shapes(const Call& call) {
  require_real(call, "self");
  require_index(call, "index");
  const int dim = index_dim(call);
  if (element_count(call.tensor("index").shape) == 0) return;
  const Shape self = at_least_1d(call.tensor("self").shape);
  const Shape index = at_least_1d(call.tensor("index").shape);
  if (self.size() != index.size()) call.fail("index must have self's number of dimensions");
  for (std::size_t i = 0; i < self.size(); ++i) {
    if (static_cast<int>(i) != dim && index[i] > self[i]) {
      call.fail("index is larger than self in dimension " + std::to_string(i));
    }
  }
}

std::vector<TensorType> infer_gather(const Call& call) {
  check_gather_shapes(call);
  return {{call.tensor("self").dtype, call.tensor("index").shape}};
}

// For each element of index: its position, its place among the elements of `out` in order, and the
// position in `self` of the element with the same coordinates and 0 along `dim`.
template <class T>
struct Gather {
  Gather(const Tensor<T>& self, const Tensor<T>& index, int dim)
      : at(positions(index.shape(), index.strides(), index.offset())) {
    const auto d = static_cast<std::size_t>(dim);
    Shape strides = self.strides();
    step = strides[d];
    strides[d] = 0;
    base = positions(index.shape(), strides, self.offset());
    size = self.shape()[d];
  }
  std::vector<std::int64_t> at, base;
  std::int64_t step = 0, size = 0;
};

struct GatherKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().size() == 0) return;
    const Tensor<T> self = at_least_1d(k.in("self"));
    const Tensor<T> index = at_least_1d(k.in("index"));
    const Gather<T> g(self, index, index_dim(k.call()));
    if (g.size == 0) return;
    for (std::size_t i = 0; i < g.at.size(); ++i) {
      const Index at = index_at(index, g.at[i], g.size);
      copy_element(k.out(), static_cast<std::int64_t>(i), self, g.base[i] + at.at * g.step,
                   at.marks);
    }
  }
};

void derive_gather(Backward& b) {
  b.contribute("self",
               b.emit("aten.scatter_add.default", {{"self", zeros_of(b, b.type(b.input("self")))},
                                                   {"dim", Dim(b.call().integer("dim"))},
                                                   {"index", b.input("index")},
                                                   {"src", b.gradient()}}));
}

std::vector<TensorType> infer_scatter_value(const Call& call) {
  check_gather_shapes(call);
  require_fits(call, call.scalar("value"), call.tensor("self").dtype);
  return {call.tensor("self")};
}

struct ScatterValueKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    k.out().assign(k.in("self"));
    const Tensor<T> out = at_least_1d(k.out());
    if (k.in("index").size() == 0) return;
    const Tensor<T> index = at_least_1d(k.in("index"));
    const Gather<T> g(out, index, index_dim(k.call()));
    const Scalar value = k.call().scalar("value");
    for (std::size_t i = 0; i < g.at.size(); ++i) {
      const Index at = index_at(index, g.at[i], g.size);
      const std::int64_t to = g.base[i] + at.at * g.step;
      if (out.integral()) {
        out.integer(to) = make_int<T>(integer_of(value, out.dtype()), at.marks);
      } else {
        out.real(to) = marked(constant<T>(value.as_double()), at.marks);
      }
    }
  }

 private:
  static std::int64_t integer_of(const Scalar& value, DType dtype) {
    if (dtype == DType::kBool) return value.as_double() != 0;
    if (!std::holds_alternative<double>(value.value)) return value.as_integer();
    return static_cast<std::int64_t>(value.as_double());
  }
};

void derive_scatter_value(Backward& b) {
  b.contribute("self", b.emit("aten.scatter.value", {{"self", b.gradient()},
                                                     {"dim", Dim(b.call().integer("dim"))},
                                                     {"index", b.input("index")},
                                                     {"value", Scalar{0.0}}}));
}

std::vector<TensorType> infer_scatter_add(const Call& call) {
  check_gather_shapes(call);
  const TensorType& self = call.tensor("self");
  require_dtype(call, "src", self.dtype);
  const Shape src = at_least_1d(call.tensor("src").shape);
  const Shape index = at_least_1d(call.tensor("index").shape);
  if (element_count(index) == 0) return {self};
  if (src.size() != index.size()) call.fail("src must have self's number of dimensions");
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (index[i] > src[i]) call.fail("index is larger than src");
  }
  return {self};
}

struct ScatterAddKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    k.out().assign(k.in("self"));
    if (k.in("index").size() == 0) return;
    const Tensor<T> out = at_least_1d(k.out());
    const Tensor<T> index = at_least_1d(k.in("index"));
    const Tensor<T> src = at_least_1d(k.in("src"));
    const Gather<T> g(out, index, index_dim(k.call()));
    const std::vector<std::int64_t> from = positions(index.shape(), src.strides(), src.offset());
    Accumulator<T> sums(out);
    for (std::size_t i = 0; i < g.at.size(); ++i) {
      const Index at = index_at(index, g.at[i], g.size);
      const std::int64_t to = g.base[i] + at.at * g.step;
      sums.add(to, src, from[i], at.marks);
    }
    sums.finish();
    // Where an index is in doubt, any element of its line may be the one.
    for (std::size_t i = 0; i < g.at.size(); ++i) {
      const std::uint8_t marks = index_at(index, g.at[i], g.size).marks;
      for (std::int64_t j = 0; (marks & kNearTie) && j < g.size; ++j) {
        mark_element(out, g.base[i] + j * g.step, marks);
      }
    }
  }
};

// ATen differentiates by src only where it has the shape of the index.
void derive_scatter_add(Backward& b) {
  b.contribute("self", b.gradient());
  if (b.needs("src")) {
    b.contribute("src", b.emit("aten.gather.default", {{"self", b.gradient()},
                                                       {"dim", Dim(b.call().integer("dim"))},
                                                       {"index", b.input("index")}}));
  }
}

std::vector<TensorType> infer_index_select(const Call& call) {
  require_real(call, "self");
  require_index(call, "index");
  TensorType type = call.tensor("self");
  const Shape& index = call.tensor("index").shape;
  if (index.size() > 1) call.fail("index must have one dimension at most");
  const int dim = index_dim(call);
  const std::int64_t count = element_count(index);
  if (type.shape.empty()) {
    if (count != 1) call.fail("a tensor without dimensions takes one index");
  } else {
    if (type.shape[static_cast<std::size_t>(dim)] == 0 && count > 0) call.fail("self is empty");
    type.shape[static_cast<std::size_t>(dim)] = count;
  }
  return {type};
}

struct IndexSelectKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().size() == 0) return;
    const int dim = index_dim(k.call());
    const Tensor<T> self = at_least_1d(k.in("self"));
    const Tensor<T> out = at_least_1d(k.out());
    const Tensor<T> index = at_least_1d(k.in("index"));
    const auto d = static_cast<std::size_t>(dim);
    for_each_line(
        dim,
        [&](const Line<2>& line) {
          for (std::int64_t i = 0; i < index.size(); ++i) {
            const Index at =
                index_at(index, index.offset() + i * index.strides()[0], self.shape()[d]);
            copy_element(out, line.at[1] + i * line.step[1], self,
                         line.at[0] + at.at * line.step[0], at.marks);
          }
        },
        self, out);
  }
};

void derive_index_select(Backward& b) {
  b.contribute("self",
               b.emit("aten.index_add.default", {{"self", zeros_of(b, b.type(b.input("self")))},
                                                 {"dim", Dim(b.call().integer("dim"))},
                                                 {"index", b.input("index")},
                                                 {"source", b.gradient()}}));
}

std::vector<TensorType> infer_index_add(const Call& call) {
  require_real(call, "self");
  require_index(call, "index");
  const TensorType& self = call.tensor("self");
  require_dtype(call, "source", self.dtype);
  const Scalar alpha = call.scalar("alpha");
  if (is_integral(self.dtype) && std::holds_alternative<double>(alpha.value)) {
    call.fail("alpha must be an integer for integer tensors");
  }
  if (call.tensor("index").shape.size() > 1) call.fail("index must have one dimension at most");
  const std::int64_t count = element_count(call.tensor("index").shape);
  const Shape& source = call.tensor("source").shape;
  if (source.size() != self.shape.size()) call.fail("source must have self's number of dimensions");
  const int dim = index_dim(call);
  const Shape own = at_least_1d(self.shape), other = at_least_1d(source);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::int64_t expected = static_cast<int>(i) == dim ? count : own[i];
    if (other[i] != expected) call.fail("source does not fit self and index");
  }
  return {self};
}

struct IndexAddKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    k.out().assign(k.in("self"));
    const int dim = index_dim(k.call());
    const Tensor<T> out = at_least_1d(k.out());
    const Tensor<T> source = at_least_1d(k.in("source"));
    const Tensor<T> index = at_least_1d(k.in("index"));
    if (source.size() == 0) return;
    const std::int64_t size = out.shape()[static_cast<std::size_t>(dim)];
    Accumulator<T> sums(out, k.call().scalar("alpha").as_double());
    for_each_line(
        dim,
        [&](const Line<2>& line) {
          for (std::int64_t i = 0; i < index.size(); ++i) {
            const Index at = index_at(index, index.offset() + i * index.strides()[0], size);
            const std::int64_t to = line.at[1] + at.at * line.step[1];
            sums.add(to, source, line.at[0] + i * line.step[0], at.marks);
          }
        },
        source, out);
    sums.finish();
  }
};

void derive_index_add(Backward& b) {
  b.contribute("self", b.gradient());
  if (!b.needs("source")) return;
  const Expr picked = emit(
      b, "aten.index_select.default",
      {{"self", b.gradient()}, {"dim", Dim(b.call().integer("dim"))}, {"index", b.input("index")}});
  const double alpha = b.call().scalar("alpha").as_double();
  give(b, "source", alpha == 1 ? picked : picked * alpha);
}

std::vector<TensorType> infer_one_hot(const Call& call) {
  require_dtype(call, "self", DType::kInt64);
  const std::int64_t classes = call.integer("num_classes");
  if (classes <= 0) call.fail("num_classes must be given");
  Shape shape = call.tensor("self").shape;
  shape.push_back(classes);
  return {{DType::kInt64, shape}};
}

struct OneHotKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const std::int64_t classes = k.out().shape().back();
    std::int64_t row = 0;
    for (const std::int64_t at : positions(self.shape(), self.strides(), self.offset())) {
      const Index index = index_at(self, at, classes);
      for (std::int64_t i = 0; i < classes; ++i) {
        k.out().integer(row + i) = make_int<T>(i == index.at, index.marks);
      }
      row += classes;
    }
  }
};

// A tensor with elements, one of its dimensions, and that one's index and size.
struct Target {
  Ref self;
  int dim = 0;
  std::size_t at = 0;
  std::int64_t size = 0;
};
Target draw_target(Draw& d, Want::Types types) {
  Target t;
  t.self = d.operand({.types = types, .min_rank = 1, .also = [](const TensorType& type) {
                        return element_count(type.shape) > 0;
                      }});
  t.dim = d.dim(t.self);
  const Shape& shape = d.type(t.self).shape;
  t.at = static_cast<std::size_t>(wrap_dim(t.dim, shape.size()));
  t.size = shape[t.at];
  return t;
}

// self's shape with another length along the dimension; now and then smaller elsewhere too.
Shape draw_index_shape(Draw& d, const Target& t) {
  Shape shape = d.type(t.self).shape;
  for (std::int64_t& size : shape) {
    if (size > 1 && d.random().chance(0.1)) --size;
  }
  shape[t.at] = d.random().chance(0.5) ? shape[t.at] : d.random().integer(1, 6);
  return shape;
}

bool draw_gather(Draw& d) {
  const Target t = draw_target(d, Want::Types::kAny);
  const Ref index = draw_indices(d, draw_index_shape(d, t), t.size);
  return d.call({{"self", t.self}, {"dim", Dim(t.dim)}, {"index", index}});
}

bool draw_scatter_value(Draw& d) {
  const Target t = draw_target(d, Want::Types::kAny);
  const Ref index = draw_indices(d, draw_index_shape(d, t), t.size);
  return d.call({{"self", t.self},
                 {"dim", Dim(t.dim)},
                 {"index", index},
                 {"value", d.number(d.type(t.self).dtype)}});
}

bool draw_scatter_add(Draw& d) {
  const Target t = draw_target(d, Want::Types::kNumeric);
  const Shape shape = draw_index_shape(d, t);
  const DType dtype = d.type(t.self).dtype;
  return d.call({{"self", t.self},
                 {"dim", Dim(t.dim)},
                 {"index", draw_indices(d, shape, t.size)},
                 {"src", d.operand_of(dtype, shape)}});
}

bool draw_index_select(Draw& d) {
  const Target t = draw_target(d, Want::Types::kAny);
  const Ref index = draw_indices(d, {d.random().integer(1, 6)}, t.size);
  return d.call({{"self", t.self}, {"dim", Dim(t.dim)}, {"index", index}});
}

bool draw_index_add(Draw& d) {
  const Target t = draw_target(d, Want::Types::kNumeric);
  TensorType type = d.type(t.self);
  type.shape[t.at] = d.random().integer(1, 6);
  std::vector<NamedArgument> args = {{"self", t.self},
                                     {"dim", Dim(t.dim)},
                                     {"index", draw_indices(d, {type.shape[t.at]}, t.size)},
                                     {"source", d.operand_of(type.dtype, type.shape)}};
  if (d.random().chance(0.3)) {
    args.push_back({"alpha", is_floating(type.dtype) ? draw_fraction(d) : Scalar{std::int64_t{2}}});
  }
  return d.call(std::move(args));
}

bool draw_one_hot(Draw& d) {
  const std::int64_t classes = d.random().integer(2, 7);
  Fill fill;
  fill.kind = Fill::Kind::kInteger;
  fill.seed = d.random().bits();
  fill.high = classes - 1;
  Shape shape{d.random().integer(1, 9)};
  if (d.random().chance(0.4)) shape.push_back(d.random().integer(1, 5));
  return d.call({{"self", d.new_input(DType::kInt64, shape, fill)}, {"num_classes", Dim(classes)}});
}

// ATen's CPU kernels may add half numbers up in the half type.
constexpr Numerics kScattered{.extern_kernel = true, .narrow_accumulator = true};

constexpr OpRow kRows[] = {
    {.schema = "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) "
               "-> Tensor",
     .python = "torch.gather",
     .infer = infer_gather,
     .kernels = &kKernels<GatherKernel>,
     .derivative = derive_gather,
     .draw = draw_gather},
    {.schema = "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     .python = "torch.scatter",
     .infer = infer_scatter_value,
     .kernels = &kKernels<ScatterValueKernel>,
     .derivative = derive_scatter_value,
     .draw = draw_scatter_value,
     .weight = 0.7},
    {.schema = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     .python = "torch.scatter_add",
     .infer = infer_scatter_add,
     .kernels = &kKernels<ScatterAddKernel>,
     .derivative = derive_scatter_add,
     .draw = draw_scatter_add,
     .numerics = kScattered},
    {.schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
     .python = "torch.index_select",
     .infer = infer_index_select,
     .kernels = &kKernels<IndexSelectKernel>,
     .derivative = derive_index_select,
     .draw = draw_index_select},
    {.schema = "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, "
               "Scalar alpha=1) -> Tensor",
     .python = "torch.index_add",
     .infer = infer_index_add,
     .kernels = &kKernels<IndexAddKernel>,
     .derivative = derive_index_add,
     .draw = draw_index_add,
     .weight = 0.7,
     .numerics = kScattered},
    {.schema = "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
     .python = "torch.nn.functional.one_hot",
     .infer = infer_one_hot,
     .kernels = &kKernels<OneHotKernel>,
     .draw = draw_one_hot,
     .weight = 0.4},
};

}  // namespace

std::span<const OpRow> gather_rows() { return kRows; }

}  // namespace ulpfuzz
