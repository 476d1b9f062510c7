#include <algorithm>
#include <array>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "oracle/loops.h"

// Tensors put behind one another, and padding.
namespace ulpfuzz {
namespace {

// Elements of any real type into a tensor whose type was promoted from it.
template <class T>
void convert(const Tensor<T>& to, const Tensor<T>& from) {
  if (to.integral() == from.integral()) {
    to.assign(from);
  } else {
    map_real(
        to, [](const T& x) { return x; }, from);
  }
}

const std::vector<Ref>& joined(const Call& call) {
  const std::vector<Ref>& tensors = call.refs("tensors");
  if (tensors.empty()) call.fail("tensors must not be empty");
  return tensors;
}

DType joined_dtype(const Call& call) {
  Promotion promotion;
  for (const Ref& ref : joined(call)) {
    if (is_complex(call.type(ref).dtype)) call.fail("complex tensors are not supported");
    promotion.add(call.type(ref));
  }
  return promotion.result();
}

// ATen leaves tensors of shape (0,) out, whatever the others' rank.
bool is_left_out(const Shape& shape) { return shape == Shape{0}; }

std::vector<TensorType> infer_cat(const Call& call) {
  const Shape* first = nullptr;
  Shape shape{0};
  int dim = 0;
  for (const Ref& ref : joined(call)) {
    const Shape& next = call.type(ref).shape;
    if (next.empty()) call.fail("a tensor without dimensions cannot be concatenated");
    if (is_left_out(next)) continue;
    if (first == nullptr) {
      first = &next;
      shape = next;
      dim = wrap_dim(call.integer("dim"), shape.size());
      continue;
    }
    if (next.size() != shape.size()) call.fail("tensors must have the same number of dimensions");
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (static_cast<int>(i) == dim) {
        shape[i] += next[i];
      } else if (shape[i] != next[i]) {
        call.fail("sizes must match except in dimension " + std::to_string(dim));
      }
    }
  }
  if (first == nullptr) wrap_dim(call.integer("dim"), 1);
  return {{joined_dtype(call), shape}};
}

// f(index, start, length) for each tensor that has a part in a cat along `dim`.
template <class F>
void for_each_part(const Call& call, int dim, F&& f) {
  std::int64_t start = 0;
  const std::vector<Ref>& tensors = joined(call);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = call.type(tensors[i]).shape;
    if (is_left_out(shape)) continue;
    const std::int64_t length = shape[static_cast<std::size_t>(dim)];
    f(i, start, length);
    start += length;
  }
}

struct CatKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const int dim = wrap_dim(k.call().integer("dim"), k.out().shape().size());
    for_each_part(k.call(), dim, [&](std::size_t i, std::int64_t start, std::int64_t length) {
      convert(part(k.out(), dim, start, length), k.list("tensors")[i]);
    });
  }
};

void derive_cat(Backward& b) {
  const int dim = wrap_dim(b.call().integer("dim"), b.type(b.output()).shape.size());
  for_each_part(b.call(), dim, [&](std::size_t i, std::int64_t start, std::int64_t length) {
    if (!b.needs("tensors", i)) return;
    b.contribute("tensors", i,
                 b.emit("aten.narrow.default", {{"self", b.gradient()},
                                                {"dim", Dim(dim)},
                                                {"start", Dim(start)},
                                                {"length", Dim(length)}}));
  });
}

std::vector<TensorType> infer_stack(const Call& call) {
  Shape shape = call.type(joined(call).front()).shape;
  for (const Ref& ref : joined(call)) {
    if (call.type(ref).shape != shape) call.fail("tensors must have the same shape");
  }
  const int dim = wrap_dim(call.integer("dim"), shape.size() + 1);
  shape.insert(shape.begin() + dim, static_cast<std::int64_t>(joined(call).size()));
  return {{joined_dtype(call), shape}};
}

struct StackKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const int dim = wrap_dim(k.call().integer("dim"), k.out().shape().size());
    const std::vector<Tensor<T>>& tensors = k.list("tensors");
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Layout row{k.out().shape(), k.out().strides(), k.out().offset()};
      row = cut(row, dim, static_cast<std::int64_t>(i), 1);
      row.shape.erase(row.shape.begin() + dim);
      row.strides.erase(row.strides.begin() + dim);
      convert(k.out().view(row.shape, row.strides, row.offset), tensors[i]);
    }
  }
};

void derive_stack(Backward& b) {
  for (std::size_t i = 0; i < joined(b.call()).size(); ++i) {
    if (!b.needs("tensors", i)) continue;
    b.contribute("tensors", i,
                 b.emit("aten.select.int", {{"self", b.gradient()},
                                            {"dim", Dim(b.call().integer("dim"))},
                                            {"index", Dim(static_cast<std::int64_t>(i))}}));
  }
}

// What is put before and after each dimension; negative: cut off.
struct Pad {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

std::vector<Pad> pads_of(const Call& call) {
  const Shape& shape = call.tensor("self").shape;
  const std::vector<std::int64_t> flat = call.integers("pad");
  if (flat.size() % 2 != 0 || flat.size() > 2 * shape.size()) {
    call.fail("pad must have two numbers for each of the last dimensions");
  }
  std::vector<Pad> pads(shape.size());
  for (std::size_t i = 0; i < flat.size() / 2; ++i) {
    pads[shape.size() - 1 - i] = {flat[2 * i], flat[2 * i + 1]};
  }
  return pads;
}

std::vector<TensorType> infer_pad(const Call& call) {
  require_real(call, "self");
  TensorType type = call.tensor("self");
  require_fits(call, call.scalar("value"), type.dtype);
  const std::vector<Pad> pads = pads_of(call);
  for (std::size_t i = 0; i < pads.size(); ++i) {
    std::int64_t& size = type.shape[i];
    const std::int64_t rest = size + std::min<std::int64_t>(pads[i].before, 0);
    if (rest < 0 || rest + std::min<std::int64_t>(pads[i].after, 0) < 0) {
      call.fail("more is cut off than there is");
    }
    size += pads[i].before + pads[i].after;
  }
  return {type};
}

struct PadKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    Tensor<T> inner = k.out();
    Tensor<T> kept = k.in("self");
    const std::vector<Pad> pads = pads_of(k.call());
    for (std::size_t i = 0; i < pads.size(); ++i) {
      const auto cut_off = [](std::int64_t pad) { return std::max<std::int64_t>(-pad, 0); };
      const std::int64_t length =
          kept.shape()[i] - cut_off(pads[i].before) - cut_off(pads[i].after);
      const int dim = static_cast<int>(i);
      kept = part(kept, dim, cut_off(pads[i].before), length);
      inner = part(inner, dim, std::max<std::int64_t>(pads[i].before, 0), length);
    }
    fill(k.out(), k.call().scalar("value"));
    inner.assign(kept);
  }

 private:
  template <class T>
  static void fill(const Tensor<T>& out, const Scalar& value) {
    if (out.integral()) {
      const bool whole = !std::holds_alternative<double>(value.value);
      const std::int64_t v =
          whole ? value.as_integer() : static_cast<std::int64_t>(value.as_double());
      const bool truth = value.as_double() != 0;
      const std::int64_t kept = out.dtype() == DType::kBool ? truth : wrap_to(out.dtype(), v);
      map(out, [&] { return make_int<T>(kept); });
    } else {
      map(out, [&] { return constant<T>(value.as_double()); });
    }
  }
};

void derive_pad(Backward& b) {
  std::vector<Dim> negated;
  for (const std::int64_t pad : b.call().integers("pad")) negated.emplace_back(-pad);
  b.contribute("self",
               b.emit("aten.constant_pad_nd.default", {{"self", b.gradient()}, {"pad", negated}}));
}

// Two or three tensors; the first one twice now and then.
bool draw_cat(Draw& d) {
  const Ref first = d.operand({.min_rank = 1});
  const int dim = d.dim(first);
  const auto at = static_cast<std::size_t>(wrap_dim(dim, d.type(first).shape.size()));
  std::vector<Ref> tensors{first};
  for (std::int64_t more = d.random().integer(1, 2); more > 0; --more) {
    if (d.random().chance(0.1)) {
      tensors.push_back(first);
      continue;
    }
    TensorType type = d.type(first);
    if (d.random().chance(0.4)) type.shape[at] = d.random().integer(1, 5);
    if (d.random().chance(0.05)) type.dtype = d.any_dtype();
    tensors.push_back(d.operand_of(type.dtype, type.shape));
  }
  if (d.random().chance(0.3)) std::swap(tensors.front(), tensors.back());
  return d.call({{"tensors", tensors}, {"dim", Dim(dim)}});
}

bool draw_stack(Draw& d) {
  const Ref first = d.operand({.max_rank = 4});
  const TensorType type = d.type(first);
  std::vector<Ref> tensors{first, d.operand_of(type.dtype, type.shape)};
  if (d.random().chance(0.3)) tensors.push_back(d.operand_of(type.dtype, type.shape));
  const auto rank = static_cast<std::int64_t>(type.shape.size());
  return d.call({{"tensors", tensors}, {"dim", Dim(d.random().integer(-rank - 1, rank))}});
}

bool draw_pad(Draw& d) {
  const Ref self = d.operand({.min_rank = 1});
  const auto rank = static_cast<std::int64_t>(d.type(self).shape.size());
  std::vector<Dim> pad;
  for (std::int64_t i = d.random().integer(1, std::min<std::int64_t>(rank, 2)); i > 0; --i) {
    pad.emplace_back(d.random().integer(d.random().chance(0.2) ? -1 : 0, 3));
    pad.emplace_back(d.random().integer(d.random().chance(0.2) ? -1 : 0, 3));
  }
  std::vector<NamedArgument> args = {{"self", self}, {"pad", pad}};
  if (d.random().chance(0.4)) args.push_back({"value", d.number(d.type(self).dtype)});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
     .python = "torch.cat",
     .infer = infer_cat,
     .kernels = &kKernels<CatKernel>,
     .derivative = derive_cat,
     .draw = draw_cat,
     .weight = 1.5},
    {.schema = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
     .python = "torch.stack",
     .infer = infer_stack,
     .kernels = &kKernels<StackKernel>,
     .derivative = derive_stack,
     .draw = draw_stack},
    {.schema = "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     .python = "torch.nn.functional.pad({self}, {pad}, value={value})",
     .infer = infer_pad,
     .kernels = &kKernels<PadKernel>,
     .derivative = derive_pad,
     .draw = draw_pad},
};

}  // namespace

std::span<const OpRow> join_rows() { return kRows; }

}  // namespace ulpfuzz
