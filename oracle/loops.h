#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "oracle/odometer.h"
#include "oracle/sum.h"
#include "oracle/tensor.h"

// Loops that oracle kernels are written with (README.md shows them at work).
namespace ulpfuzz {

// ---- operands of map ------------------------------------------------------------------------

// Elements as T. An integral tensor is converted (a contiguous copy).
template <class T>
struct RealOperand {
  using Element = T;
  explicit RealOperand(const Tensor<T>& t) : tensor(t) {
    if (!t.integral()) return;
    tensor = Tensor<T>({DType::kFloat64, t.shape()});
    std::int64_t to = 0;
    for (const std::int64_t at : positions(t.shape(), t.strides(), t.offset())) {
      tensor.real(to++) = from_integer<T>(t.integer(at));
    }
  }
  T* data() const { return tensor.reals(); }
  Tensor<T> tensor;
};
// Elements of an integral tensor as Int<T>.
template <class T>
struct IntOperand {
  using Element = Int<T>;
  explicit IntOperand(const Tensor<T>& t) : tensor(t) {}
  Int<T>* data() const { return tensor.integers(); }
  Tensor<T> tensor;
};
template <class T>
RealOperand<T> as_real(const Tensor<T>& t) {
  return RealOperand<T>(t);
}
template <class T>
IntOperand<T> as_int(const Tensor<T>& t) {
  return IntOperand<T>(t);
}

// An integer as an element of `dtype`.
template <class I>
I wrapped(DType dtype, const I& i) {
  I w = i;
  if constexpr (std::is_same_v<I, MarkedInt>) {
    w.v = wrap_to(dtype, i.v);
  } else {
    w = wrap_to(dtype, i);
  }
  return w;
}

// ---- elementwise ----------------------------------------------------------------------------

// out[i] = f(operands[i]...) over operands broadcast to out's shape. f returns T for a floating
// `out`, Int<T> for an integral one (wrapped to out's dtype). `out` may be an operand itself
// (in-place), element by element.
//
//     map(k.out(), [](const T& x, const Int<T>& c) { return select(c, x, T{}); }, as_real(a),
//     as_int(c));
template <class T, class F, class... Operands>
void map(const Tensor<T>& out, F&& f, const Operands&... operands) {
  constexpr std::size_t n = sizeof...(Operands) + 1;
  using Result = std::decay_t<std::invoke_result_t<F, const typename Operands::Element&...>>;
  static_assert(std::is_same_v<Result, T> || std::is_same_v<Result, Int<T>>);
  const Shape& shape = out.shape();
  const std::array<Shape, n> strides{
      out.strides(),
      broadcast_strides(operands.tensor.shape(), operands.tensor.strides(), shape)...};
  const std::array<std::int64_t, n> offsets{out.offset(), operands.tensor.offset()...};
  const auto data = std::make_tuple(operands.data()...);
  constexpr bool real = std::is_same_v<Result, T> && !std::is_same_v<Result, Int<T>>;
  for (Rows<n> rows(shape, offsets, strides); !rows.done(); rows.next()) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      for (std::int64_t i = 0; i < rows.length(); ++i) {
        const std::int64_t to = rows.at(0) + i * rows.step(0);
        const auto value = f(std::get<I>(data)[rows.at(I + 1) + i * rows.step(I + 1)]...);
        if constexpr (real) {
          out.real(to) = value;
        } else {
          out.integer(to) = wrapped(out.dtype(), value);
        }
      }
    }
    (std::index_sequence_for<Operands...>{});
  }
}

// out[i] = f(T...) of operands read as numbers; f returns T (floating out) or Int<T>.
template <class T, class F, class... Rest>
void map_real(const Tensor<T>& out, F&& f, const Tensor<T>& first, const Rest&... rest) {
  map<T>(out, std::forward<F>(f), as_real(first), as_real(rest)...);
}

// out[i] = f(int64...) of integral operands, on plain integers: marks of the operands are united.
template <class T, class F, class... Rest>
void map_int(const Tensor<T>& out, F&& f, const Tensor<T>& first, const Rest&... rest) {
  const auto g = [&f](const auto&... i) {
    return make_int<T>(f(value_of(i)...), (0 | ... | marks_of(i)));
  };
  map<T>(out, g, as_int(first), as_int(rest)...);
}

// ---- reductions -----------------------------------------------------------------------------

// The elements that each output element of a reduction is made of.
struct Reduction {
  // `dims` wrapped to [0, rank), distinct; empty: all dims, when `all_when_empty`.
  Reduction(const Shape& shape, const Shape& strides, std::int64_t offset,
            const std::vector<std::int64_t>& dims, bool all_when_empty = true);
  Shape kept;                           // the shape that is left, without keepdim
  Shape reduced;                        // sizes of the reduced dims, in their order in the shape
  std::vector<std::int64_t> bases;      // one an output element, row-major over `kept`
  std::vector<std::int64_t> positions;  // relative to a base, row-major over `reduced`
};

// f(o, base, positions) for each output element o (row-major, contiguous with or without keepdim):
// its terms lie at base + positions[j].
//
//     reduce(x, dims, [&](std::int64_t o, std::int64_t base, const auto& positions) {
//       Sum<T> sum;
//       for (const std::int64_t p : positions) sum.add(x.real(base + p));
//       k.out().real(o) = sum.total();
//     });
template <class T, class F>
void reduce(const Tensor<T>& x, const std::vector<std::int64_t>& dims, F&& f,
            bool all_when_empty = true) {
  const Reduction r(x.shape(), x.strides(), x.offset(), dims, all_when_empty);
  for (std::size_t o = 0; o < r.bases.size(); ++o) {
    f(static_cast<std::int64_t>(o), r.bases[o], r.positions);
  }
}

// f(line) for each line along `dim`: `at` is the position of its first element in each tensor, and
// `step` the stride. All tensors have the shape of the first one, but for the size of `dim`.
// For softmax, cumsum, sort, gather and the like.
template <std::size_t N>
struct Line {
  std::array<std::int64_t, N> at;
  std::array<std::int64_t, N> step;
  std::int64_t index;  // of the line, row-major over the other dims
};
template <class T, class F, class... Rest>
void for_each_line(int dim, F&& f, const Tensor<T>& first, const Rest&... rest) {
  constexpr std::size_t n = sizeof...(Rest) + 1;
  Line<n> line{};
  if (first.rank() == 0) {
    line.at = {first.offset(), rest.offset()...};
    f(line);
    return;
  }
  const auto d = static_cast<std::size_t>(dim);
  Shape shape = first.shape();
  shape.erase(shape.begin() + dim);
  const auto without = [dim](Shape strides) {
    strides.erase(strides.begin() + dim);
    return strides;
  };
  line.step = {first.strides()[d], rest.strides()[d]...};
  for (Rows<n> rows(shape, {first.offset(), rest.offset()...},
                    {without(first.strides()), without(rest.strides())...});
       !rows.done(); rows.next()) {
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      for (std::size_t j = 0; j < n; ++j) line.at[j] = rows.at(j) + i * rows.step(j);
      f(line);
      ++line.index;
    }
  }
}

// ---- matrices -------------------------------------------------------------------------------

// out (..., m, n) = a (..., m, k) @ b (..., k, n), batch dimensions of a and b broadcast to out's,
// which is contiguous. Floating.
template <class T>
void batched_matmul(const Tensor<T>& out, const Tensor<T>& a, const Tensor<T>& b);

}  // namespace ulpfuzz
