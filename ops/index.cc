#include <algorithm>
#include <numeric>
#include <optional>

#include "ops/families.h"
#include "ops/indices.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "oracle/loops.h"

// x[i, j], writes to such places, and embeddings.
namespace ulpfuzz {
namespace {

// How a tensor is seen through index tensors: for each place of their broadcast shape, all of the
// dimensions that are not indexed. Index dimensions come where the first indexed dimension was when
// the indexed ones are adjacent, else first (numpy's rule).
struct Indexing {
  std::vector<std::size_t> indexed;  // dimensions of self
  Shape places;                      // broadcast shape of the index tensors
  Shape rest;                        // sizes of the other dimensions
  std::size_t before = 0;            // how many of `rest` come before the index dimensions
  Shape shape() const {
    Shape all = rest;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(before), places.begin(), places.end());
    return all;
  }
};

Indexing indexing_of(const Call& call) {
  require_real(call, "self");
  const Shape& self = call.tensor("self").shape;
  const std::vector<Ref>& indices = call.refs("indices");
  if (indices.size() > self.size()) call.fail("there are more indices than dimensions");
  Indexing x;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].name.empty()) continue;
    const TensorType& type = call.type(indices[i]);
    if (type.dtype != DType::kInt64 && type.dtype != DType::kInt32) {
      call.fail("indices must be int64 or int32");
    }
    x.places = x.indexed.empty() ? type.shape : broadcast(x.places, type.shape);
    x.indexed.push_back(i);
  }
  if (x.indexed.empty()) call.fail("at least one index must be a tensor");
  const bool adjacent = x.indexed.back() - x.indexed.front() + 1 == x.indexed.size();
  x.before = adjacent ? x.indexed.front() : 0;
  for (std::size_t i = 0; i < self.size(); ++i) {
    const bool is_indexed = std::count(x.indexed.begin(), x.indexed.end(), i) > 0;
    if (!is_indexed) x.rest.push_back(self[i]);
    if (is_indexed && self[i] == 0 && element_count(x.places) > 0) call.fail("self is empty");
  }
  return x;
}

std::vector<TensorType> infer_index(const Call& call) {
  return {{call.tensor("self").dtype, indexing_of(call).shape()}};
}

// f(place, offset, marks) for each place: where its elements start in self, beside what the other
// dimensions add.
template <class T, class F>
void for_each_place(const Kernel<T>& k, const Indexing& x, const Tensor<T>& self, F&& f) {
  const std::vector<Tensor<T>>& indices = k.list("indices");
  std::vector<std::vector<std::int64_t>> at;
  for (const std::size_t dim : x.indexed) {
    const Tensor<T> index = indices[dim].expand(x.places);
    at.push_back(positions(index.shape(), index.strides(), index.offset()));
  }
  const std::int64_t count = element_count(x.places);
  for (std::int64_t place = 0; place < count; ++place) {
    std::int64_t offset = self.offset();
    int marks = 0;
    for (std::size_t i = 0; i < x.indexed.size(); ++i) {
      const std::size_t dim = x.indexed[i];
      const Index index =
          index_at(indices[dim], at[i][static_cast<std::size_t>(place)], self.shape()[dim], true);
      offset += index.at * self.strides()[dim];
      marks |= index.marks;
    }
    f(place, offset, static_cast<std::uint8_t>(marks));
  }
}

// Positions of the dimensions that are not indexed, relative to a place: of self, and of a tensor
// of the indexed shape.
template <class T>
std::vector<std::int64_t> rest_of_self(const Indexing& x, const Tensor<T>& self) {
  Shape strides;
  for (std::size_t i = 0; i < self.shape().size(); ++i) {
    const bool is_indexed = std::count(x.indexed.begin(), x.indexed.end(), i) > 0;
    if (!is_indexed) strides.push_back(self.strides()[i]);
  }
  return positions(x.rest, strides, 0);
}
struct Indexed {
  std::vector<std::int64_t> places, rest;
};
template <class T>
Indexed positions_of_indexed(const Indexing& x, const Tensor<T>& t) {
  Shape rest = t.strides();
  const auto first = rest.begin() + static_cast<std::ptrdiff_t>(x.before);
  const auto last = first + static_cast<std::ptrdiff_t>(x.places.size());
  const Shape places(first, last);
  rest.erase(first, last);
  return {positions(x.places, places, t.offset()), positions(x.rest, rest, 0)};
}

struct IndexKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Indexing x = indexing_of(k.call());
    const Tensor<T>& self = k.in("self");
    const std::vector<std::int64_t> from = rest_of_self(x, self);
    const Indexed to = positions_of_indexed(x, k.out());
    for_each_place(k, x, self, [&](std::int64_t place, std::int64_t offset, std::uint8_t marks) {
      const std::int64_t start = to.places[static_cast<std::size_t>(place)];
      for (std::size_t i = 0; i < from.size(); ++i) {
        copy_element(k.out(), start + to.rest[i], self, offset + from[i], marks);
      }
    });
  }
};

Ref put(Backward& b, const Ref& self, const Ref& values, bool accumulate) {
  return b.emit("aten.index_put.default", {{"self", self},
                                           {"indices", b.call().refs("indices")},
                                           {"values", values},
                                           {"accumulate", accumulate}});
}

void derive_index(Backward& b) {
  b.contribute("self", put(b, zeros_of(b, b.type(b.input("self"))), b.gradient(), true));
}

std::vector<TensorType> infer_index_put(const Call& call) {
  const TensorType& self = call.tensor("self");
  const Shape shape = indexing_of(call).shape();
  require_dtype(call, "values", self.dtype);
  const Shape& values = call.tensor("values").shape;
  if (values.size() > shape.size() || broadcast(values, shape) != shape) {
    call.fail("values must broadcast to the indexed shape");
  }
  return {self};
}

struct IndexPutKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Indexing x = indexing_of(k.call());
    const Tensor<T>& out = k.out();
    out.assign(k.in("self"));
    const Tensor<T> values = k.in("values").expand(x.shape());
    const std::vector<std::int64_t> to = rest_of_self(x, out);
    const Indexed from = positions_of_indexed(x, values);
    if (k.call().boolean("accumulate")) {
      accumulate(k, x, out, values, to, from);
    } else {
      write(k, x, out, values, to, from);
    }
  }

 private:
  // Two different elements written to one place: which one stays is undefined.
  template <class T>
  static void write(const Kernel<T>& k, const Indexing& x, const Tensor<T>& out,
                    const Tensor<T>& values, const std::vector<std::int64_t>& to,
                    const Indexed& from) {
    std::vector<std::int64_t> writer(static_cast<std::size_t>(out.size()), -1);
    for_each_place(k, x, out, [&](std::int64_t place, std::int64_t offset, std::uint8_t marks) {
      const std::int64_t start = from.places[static_cast<std::size_t>(place)];
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::int64_t target = offset + to[i], source = start + from.rest[i];
        std::int64_t& last = writer[static_cast<std::size_t>(target)];
        const bool twice = last >= 0 && last != source;
        last = source;
        copy_element(out, target, values, source,
                     static_cast<std::uint8_t>(marks | (twice ? kUndefined : 0)));
      }
    });
  }

  template <class T>
  static void accumulate(const Kernel<T>& k, const Indexing& x, const Tensor<T>& out,
                         const Tensor<T>& values, const std::vector<std::int64_t>& to,
                         const Indexed& from) {
    Accumulator<T> sums(out);
    for_each_place(k, x, out, [&](std::int64_t place, std::int64_t offset, std::uint8_t marks) {
      const std::int64_t start = from.places[static_cast<std::size_t>(place)];
      for (std::size_t i = 0; i < to.size(); ++i) {
        sums.add(offset + to[i], values, start + from.rest[i], marks);
      }
    });
    sums.finish();
  }
};

void derive_index_put(Backward& b) {
  const bool accumulate = b.call().boolean("accumulate");
  if (b.needs("self")) {
    b.contribute("self", accumulate
                             ? b.gradient()
                             : put(b, b.gradient(), zeros_of(b, b.type(b.input("values"))), false));
  }
  if (b.needs("values")) {
    b.contribute("values", b.emit("aten.index.Tensor",
                                  {{"self", b.gradient()}, {"indices", b.call().refs("indices")}}));
  }
}

// Embeddings: rows of a matrix.

std::vector<TensorType> infer_embedding(const Call& call) {
  require_real(call, "weight");
  require_index(call, "indices");
  const TensorType& weight = call.tensor("weight");
  if (weight.shape.size() != 2) call.fail("weight must have two dimensions");
  if (call.boolean("sparse")) call.fail("sparse gradients are not supported");
  const std::int64_t padding = call.integer("padding_idx");
  if (padding >= weight.shape[0]) call.fail("padding_idx is out of range");
  if (padding < 0 && call.node().find("padding_idx") != nullptr) {
    call.fail("padding_idx must not be negative; leave it out for none");
  }
  Shape shape = call.tensor("indices").shape;
  shape.push_back(weight.shape[1]);
  return {{weight.dtype, shape}};
}

struct EmbeddingKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& weight = k.in("weight");
    const Tensor<T>& indices = k.in("indices");
    const std::int64_t width = weight.shape()[1];
    if (weight.size() == 0) return;
    std::int64_t to = 0;
    for (const std::int64_t at : positions(indices.shape(), indices.strides(), indices.offset())) {
      const Index index = index_at(indices, at, weight.shape()[0]);
      const std::int64_t row = weight.offset() + index.at * weight.strides()[0];
      for (std::int64_t i = 0; i < width; ++i) {
        copy_element(k.out(), to++, weight, row + i * weight.strides()[1], index.marks);
      }
    }
  }
};

void derive_embedding(Backward& b) {
  b.contribute("weight", b.emit("aten.embedding_dense_backward.default",
                                {{"grad_output", b.gradient()},
                                 {"indices", b.input("indices")},
                                 {"num_weights", Dim(b.call().tensor("weight").shape[0])},
                                 {"padding_idx", Dim(b.call().integer("padding_idx"))},
                                 {"scale_grad_by_freq", b.call().boolean("scale_grad_by_freq")}}));
}

std::vector<TensorType> infer_embedding_backward(const Call& call) {
  require_floating(call, "grad_output");
  require_index(call, "indices");
  const TensorType& gradient = call.tensor("grad_output");
  if (gradient.shape.empty()) call.fail("grad_output needs a dimension");
  return {{gradient.dtype, {call.integer("num_weights"), gradient.shape.back()}}};
}

struct EmbeddingBackwardKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> gradient = k.in("grad_output").contiguous();
    const Tensor<T>& indices = k.in("indices");
    const std::int64_t rows = k.out().shape()[0], width = k.out().shape()[1];
    const std::int64_t padding = k.call().integer("padding_idx");
    std::vector<Index> at;
    std::vector<std::int64_t> count(static_cast<std::size_t>(rows), 0);
    for (const std::int64_t p : positions(indices.shape(), indices.strides(), indices.offset())) {
      at.push_back(index_at(indices, p, rows));
      if (rows > 0) ++count[static_cast<std::size_t>(at.back().at)];
    }
    if (rows == 0) return;
    const bool by_frequency = k.call().boolean("scale_grad_by_freq");
    std::vector<Sum<T>> sums(static_cast<std::size_t>(rows * width));
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i].at == padding) continue;
      const auto n = static_cast<double>(count[static_cast<std::size_t>(at[i].at)]);
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t from = static_cast<std::int64_t>(i) * width + j;
        const T term = marked(gradient.real(from), at[i].marks);
        sums[static_cast<std::size_t>(at[i].at * width + j)].add(
            by_frequency && n > 1 ? term / widen<T>(n) : term);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      k.out().real(static_cast<std::int64_t>(i)) = sums[i].total();
    }
  }
};

// Index tensors for one or two dimensions of `self`; sometimes a dimension is skipped.
std::vector<Ref> draw_index_list(Draw& d, const Shape& self) {
  const auto rank = static_cast<std::int64_t>(self.size());
  const std::int64_t skipped = d.random().chance(0.35) ? d.random().integer(0, rank - 1) : 0;
  std::vector<Ref> indices(static_cast<std::size_t>(skipped));
  Shape places;
  // An index without dimensions is a position to Python: x[i] is then a view, another operator.
  for (std::int64_t n = d.random().integer(1, 2); n > 0; --n) {
    places.push_back(d.random().integer(1, 5));
  }
  indices.push_back(draw_indices(d, places, self[static_cast<std::size_t>(skipped)], true));
  if (skipped + 1 < rank && d.random().chance(0.4)) {
    auto next = static_cast<std::size_t>(skipped + 1);
    if (skipped + 2 < rank && d.random().chance(0.3)) {
      indices.emplace_back();  // the index dimensions come first then
      ++next;
    }
    if (!places.empty() && d.random().chance(0.3)) places.front() = 1;
    indices.push_back(draw_indices(d, places, self[next], true));
  }
  return indices;
}

Ref draw_filled(Draw& d, Want::Types types) {
  return d.operand({.types = types, .min_rank = 1, .also = [](const TensorType& type) {
                      return element_count(type.shape) > 0;
                    }});
}

bool draw_index(Draw& d) {
  const Ref self = draw_filled(d, Want::Types::kAny);
  return d.call({{"self", self}, {"indices", draw_index_list(d, d.type(self).shape)}});
}

// Adds at random places, or writes at distinct ones of the first dimension.
bool draw_index_put(Draw& d) {
  const Ref self = draw_filled(d, Want::Types::kNumeric);
  const TensorType type = d.type(self);
  const bool accumulate = d.random().chance(0.6);
  const std::int64_t count = d.random().integer(1, std::min<std::int64_t>(type.shape[0], 6));
  const Ref index = accumulate ? draw_indices(d, {count}, type.shape[0], true)
                               : draw_distinct_indices(d, count, type.shape[0]);
  Shape shape = type.shape;
  shape[0] = d.random().chance(0.2) ? 1 : count;
  if (shape.size() > 1 && d.random().chance(0.1)) shape.erase(shape.begin());
  return d.call({{"self", self},
                 {"indices", std::vector<Ref>{index}},
                 {"values", d.operand_of(type.dtype, shape)},
                 {"accumulate", accumulate}});
}

bool draw_embedding(Draw& d) {
  const Ref weight = d.operand(
      {.types = Want::Types::kFloating, .min_rank = 2, .max_rank = 2, .also = [](const auto& type) {
         return element_count(type.shape) > 0;
       }});
  const std::int64_t rows = d.type(weight).shape[0];
  Shape shape{d.random().integer(1, 9)};
  if (d.random().chance(0.5)) shape.insert(shape.begin(), d.random().integer(1, 3));
  std::vector<NamedArgument> args = {{"weight", weight}, {"indices", draw_indices(d, shape, rows)}};
  if (d.random().chance(0.2)) args.push_back({"padding_idx", Dim(d.random().integer(0, rows - 1))});
  if (d.random().chance(0.1)) args.push_back({"scale_grad_by_freq", true});
  return d.call(std::move(args));
}

constexpr Numerics kExtern{.extern_kernel = true};
// ATen's CPU kernels add half numbers up in the half type.
constexpr Numerics kAccumulated{.extern_kernel = true, .narrow_accumulator = true};

constexpr OpRow kRows[] = {
    {.schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .python = "{self}[{indices}]",
     .infer = infer_index,
     .kernels = &kKernels<IndexKernel>,
     .derivative = derive_index,
     .draw = draw_index},
    {.schema = "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, "
               "bool accumulate=False) -> Tensor",
     .python = "torch.index_put",
     .infer = infer_index_put,
     .kernels = &kKernels<IndexPutKernel>,
     .derivative = derive_index_put,
     .draw = draw_index_put,
     .numerics = kAccumulated},
    {.schema = "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
               "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     .python = "torch.nn.functional.embedding({indices}, {weight}, padding_idx={padding_idx}, "
               "scale_grad_by_freq={scale_grad_by_freq})",
     .infer = infer_embedding,
     .kernels = &kKernels<EmbeddingKernel>,
     .derivative = derive_embedding,
     .draw = draw_embedding,
     .numerics = kExtern},
    {.schema = "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, "
               "SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
     .python = "torch.ops.aten.embedding_dense_backward",
     .infer = infer_embedding_backward,
     .kernels = &kKernels<EmbeddingBackwardKernel>,
     .weight = 0,
     .numerics = kAccumulated},
};

}  // namespace

std::span<const OpRow> index_rows() { return kRows; }

}  // namespace ulpfuzz
