#include "ops/families.h"
#include "ops/movement.h"

// Copies in which elements appear several times in a row.
namespace ulpfuzz {
namespace {

// The operand's shape with a dimension of the repeats put in behind the repeated one. Without `dim`
// the flattened tensor is repeated.
struct Repeats {
  Shape apart;
  std::size_t dim = 0;
};

Repeats repeats_of(const Call& call) {
  const Shape& shape = call.tensor("self").shape;
  const std::int64_t repeats = call.integer("repeats");
  if (repeats < 0) call.fail("repeats must not be negative");
  if (call.given("output_size")) call.fail("output_size is not supported");
  Repeats r{shape};
  if (!call.given("dim")) {
    r.apart = {element_count(shape)};
  } else if (shape.empty()) {
    call.fail("a tensor without dimensions is repeated without dim");
  } else {
    r.dim = static_cast<std::size_t>(wrap_dim(call.integer("dim"), shape.size()));
  }
  r.apart.insert(r.apart.begin() + static_cast<std::ptrdiff_t>(r.dim) + 1, repeats);
  return r;
}

std::vector<TensorType> infer_repeat_interleave(const Call& call) {
  Repeats r = repeats_of(call);
  r.apart[r.dim] *= r.apart[r.dim + 1];
  r.apart.erase(r.apart.begin() + static_cast<std::ptrdiff_t>(r.dim) + 1);
  return {{call.tensor("self").dtype, r.apart}};
}

struct RepeatInterleaveKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Repeats r = repeats_of(k.call());
    Shape once = r.apart;
    once[r.dim + 1] = 1;
    const Tensor<T> self(TensorType{k.out().dtype(), once});
    self.view(k.in("self").shape(), contiguous_strides(k.in("self").shape()), 0)
        .assign(k.in("self"));
    const Tensor<T> out = k.out().view(r.apart, contiguous_strides(r.apart), k.out().offset());
    for (std::int64_t i = 0; i < r.apart[r.dim + 1]; ++i) {
      part(out, static_cast<int>(r.dim) + 1, i, 1).assign(self);
    }
  }
};

// ATen composes it of unsqueeze, expand and a copy: the copies' gradients are summed.
void derive_repeat_interleave(Backward& b) {
  const Repeats r = repeats_of(b.call());
  const Ref sum = b.emit("aten.sum.dim_IntList",
                         {{"self", reshaped(b, b.gradient(), r.apart)},
                          {"dim", std::vector<Dim>{Dim(static_cast<std::int64_t>(r.dim) + 1)}}});
  b.contribute("self", reshaped(b, sum, b.call().tensor("self").shape));
}

bool draw_repeat_interleave(Draw& d) {
  const bool flat = d.random().chance(0.1);
  const Ref self = d.operand({.min_rank = flat ? 0 : 1, .max_rank = 4});
  std::vector<NamedArgument> args = {{"self", self}, {"repeats", Dim(d.random().integer(1, 4))}};
  if (!flat) args.push_back({"dim", Dim(d.dim(self))});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
               "SymInt? output_size=None) -> Tensor",
     .python = "torch.repeat_interleave",
     .infer = infer_repeat_interleave,
     .kernels = &kKernels<RepeatInterleaveKernel>,
     .derivative = derive_repeat_interleave,
     .draw = draw_repeat_interleave,
     .weight = 0.7},
};

}  // namespace

std::span<const OpRow> repeat_rows() { return kRows; }

}  // namespace ulpfuzz
