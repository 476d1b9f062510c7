#include "ops/families.h"
#include "ops/movement.h"

// Views of the parts of a dimension.
namespace ulpfuzz {
namespace {

int split_dim(const Call& call) {
  const Shape& shape = call.tensor("self").shape;
  if (shape.empty()) call.fail("a tensor without dimensions cannot be split");
  return wrap_dim(call.integer("dim"), shape.size());
}

std::vector<std::int64_t> split_sizes(const Call& call) {
  std::vector<std::int64_t> sizes = call.integers("split_sizes");
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) call.fail("a size is negative");
    sum += size;
  }
  if (sum != call.tensor("self").shape[static_cast<std::size_t>(split_dim(call))]) {
    call.fail("split_sizes must sum to the size of the dimension");
  }
  if (sizes.empty()) call.fail("split_sizes must not be empty");
  return sizes;
}

std::vector<TensorType> infer_split(const Call& call) {
  const auto dim = static_cast<std::size_t>(split_dim(call));
  std::vector<TensorType> parts;
  for (const std::int64_t size : split_sizes(call)) {
    parts.push_back(call.tensor("self"));
    parts.back().shape[dim] = size;
  }
  return parts;
}

struct SplitKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const int dim = split_dim(k.call());
    const std::vector<std::int64_t> sizes = split_sizes(k.call());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      k.out(static_cast<int>(i)) = part(k.in("self"), dim, start, sizes[i]);
      start += sizes[i];
    }
  }
};

// Parts that received no gradient count as zeros.
void derive_split(Backward& b) {
  std::vector<Ref> gradients;
  for (std::size_t i = 0; i < split_sizes(b.call()).size(); ++i) {
    gradients.push_back(b.gradient(static_cast<int>(i)));
  }
  b.contribute("self", b.emit("aten.cat.default", {{"tensors", std::move(gradients)},
                                                   {"dim", Dim(split_dim(b.call()))}}));
}

// Two to four parts, as projections of queries, keys and values are split; rarely one.
bool draw_split(Draw& d) {
  const Ref self = d.operand({.min_rank = 1, .also = [](const TensorType& type) {
                                return element_count(type.shape) > 0;
                              }});
  const int dim = d.random().chance(0.5) ? -1 : d.dim(self);
  const Shape& shape = d.type(self).shape;
  std::int64_t left = shape[static_cast<std::size_t>(wrap_dim(dim, shape.size()))];
  const std::int64_t parts = d.random().chance(0.05) ? 1 : d.random().integer(2, 4);
  std::vector<Dim> sizes;
  for (std::int64_t i = 1; i < parts && left > 1; ++i) {
    sizes.emplace_back(d.random().integer(1, left - 1));
    left -= sizes.back().constant;
  }
  sizes.emplace_back(left);
  return d.call({{"self", self}, {"split_sizes", sizes}, {"dim", Dim(dim)}});
}

constexpr OpRow kRows[] = {
    {.schema = "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) "
               "-> Tensor(a)[]",
     .python = "torch.split",
     .infer = infer_split,
     .kernels = &kKernels<SplitKernel>,
     .derivative = derive_split,
     .draw = draw_split,
     .numerics = {.is_view = true}},
};

}  // namespace

std::span<const OpRow> split_rows() { return kRows; }

}  // namespace ulpfuzz
