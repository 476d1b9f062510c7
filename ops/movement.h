#pragma once

#include <vector>

#include "generators/draw.h"
#include "ir/call.h"
#include "ir/differentiate.h"
#include "oracle/kernel.h"

namespace ulpfuzz {

// Operators that only move elements: views, and copies that a view describes.

// Where the elements of a tensor lie. Strides and offset count elements.
struct Layout {
  Shape shape;
  Shape strides;
  std::int64_t offset = 0;
};

// What a view operator does to a layout: both its type rule and its kernel. Throws Error.
using ViewRule = Layout (*)(const Call& call, const Layout& self);

template <ViewRule kRule>
std::vector<TensorType> infer_view(const Call& call) {
  const TensorType& self = call.tensor("self");
  return {{self.dtype, kRule(call, {self.shape, contiguous_strides(self.shape), 0}).shape}};
}

template <class T>
Tensor<T> view_by(ViewRule rule, const Call& call, const Tensor<T>& self) {
  const Layout layout = rule(call, {self.shape(), self.strides(), self.offset()});
  return self.view(layout.shape, layout.strides, layout.offset);
}

template <ViewRule kRule>
struct ViewKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    k.out() = view_by(kRule, k.call(), k.in("self"));
  }
};

// The rules of operators that others are made of (view.cc).
Layout select_layout(const Call& call, const Layout& self);
Layout slice_layout(const Call& call, const Layout& self);
Layout diagonal_layout(const Call& call, const Layout& self);

// `self` with dimension `dim` cut to [start, start + length * step) (a copy of the layout).
Layout cut(const Layout& self, int dim, std::int64_t start, std::int64_t length,
           std::int64_t step = 1);

template <class T>
Tensor<T> part(const Tensor<T>& self, int dim, std::int64_t start, std::int64_t length) {
  const Layout layout = cut({self.shape(), self.strides(), self.offset()}, dim, start, length);
  return self.view(layout.shape, layout.strides, layout.offset);
}

// A shape with one -1 made definite; throws Error when `count` elements do not fit.
Shape resolve_shape(const Call& call, const std::vector<std::int64_t>& sizes, std::int64_t count);

// Distinct dimensions from [-rank, rank) as indices; throws Error. Rank 0 accepts 0 and -1.
std::vector<int> distinct_dims(const Call& call, const std::vector<std::int64_t>& dims,
                               std::size_t rank);

// Gradient nodes: `x` in another shape, zeros of a type, and the rule of operators whose result is
// `self` in another shape.
Ref reshaped(Backward& b, const Ref& x, const Shape& shape);
Ref zeros_of(Backward& b, const TensorType& type);
void derive_by_reshape(Backward& b);

}  // namespace ulpfuzz
