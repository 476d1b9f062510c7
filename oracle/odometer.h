#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/dim.h"

namespace ulpfuzz {

// Walks the rows of N layouts over one shape: a row is a run along the last dimension, in which
// every layout has one stride. Dimensions that all layouts can merge are merged first, so that
// contiguous operands are one row.
//
//     for (Rows<2> rows(shape, {offset_a, offset_b}, {strides_a, strides_b}); !rows.done();
//     rows.next())
//       for (i < rows.length()) use(rows.at(0) + i * rows.step(0), rows.at(1) + i * rows.step(1));
//
// `strides` have one entry a dimension of `shape` (see broadcast_strides).
template <std::size_t N>
class Rows {
 public:
  Rows(const Shape& shape, const std::array<std::int64_t, N>& offsets,
       const std::array<Shape, N>& strides)
      : at_(offsets) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 0) done_ = true;
      if (shape[d] != 1) push(shape[d], strides, d);
    }
    if (sizes_.empty()) {
      sizes_.push_back(1);
      steps_.emplace_back();
    }
    index_.assign(sizes_.size(), 0);
  }

  bool done() const { return done_; }
  std::int64_t length() const { return sizes_.back(); }
  std::int64_t at(std::size_t n) const { return at_[n]; }
  std::int64_t step(std::size_t n) const { return steps_.back()[n]; }
  void next() {
    for (std::size_t d = sizes_.size() - 1; d-- > 0;) {
      for (std::size_t n = 0; n < N; ++n) at_[n] += steps_[d][n];
      if (++index_[d] < sizes_[d]) return;
      index_[d] = 0;
      for (std::size_t n = 0; n < N; ++n) at_[n] -= steps_[d][n] * sizes_[d];
    }
    done_ = true;
  }

 private:
  void push(std::int64_t size, const std::array<Shape, N>& strides, std::size_t d) {
    bool merges = !sizes_.empty();
    for (std::size_t n = 0; n < N && merges; ++n) merges = steps_.back()[n] == strides[n][d] * size;
    if (merges) {
      sizes_.back() *= size;
    } else {
      sizes_.push_back(size);
      steps_.emplace_back();
    }
    for (std::size_t n = 0; n < N; ++n) steps_.back()[n] = strides[n][d];
  }

  std::array<std::int64_t, N> at_;
  std::vector<std::int64_t> sizes_, index_;
  std::vector<std::array<std::int64_t, N>> steps_;
  bool done_ = false;
};

// Strides of a layout seen as the larger `shape` that it broadcasts to: 0 where it is repeated.
Shape broadcast_strides(const Shape& from, const Shape& strides, const Shape& shape);

// The storage position of every element, in row-major order.
std::vector<std::int64_t> positions(const Shape& shape, const Shape& strides, std::int64_t offset);

// Row-major linear index <-> indices of each dimension.
Shape unravel(std::int64_t linear, const Shape& shape);
std::int64_t ravel(const Shape& index, const Shape& shape);

}  // namespace ulpfuzz
