#pragma once

#include <cstdint>

#include "generators/draw.h"
#include "ir/call.h"
#include "oracle/loops.h"
#include "oracle/running.h"
#include "oracle/sum.h"
#include "oracle/tensor.h"

// What operators that take tensors of indices share (gather.cc, index.cc).
namespace ulpfuzz {

// int32 or int64.
void require_index(const Call& call, std::string_view arg);

// Indices in [0, size), or also negative ones. `distinct`: of one dimension, no index twice.
Ref draw_indices(Draw& d, const Shape& shape, std::int64_t size, bool negative = false);
Ref draw_distinct_indices(Draw& d, std::int64_t count, std::int64_t size);

// An index as a program gives it; one out of range is kUndefined (eager raises there).
struct Index {
  std::int64_t at = 0;
  std::uint8_t marks = 0;
};
template <class T>
Index index_at(const Tensor<T>& indices, std::int64_t position, std::int64_t size,
               bool negative = false) {
  Index index{value_of(indices.integer(position)), marks_of(indices.integer(position))};
  if (negative && index.at < 0) index.at += size;
  if (index.at < 0 || index.at >= size) index = {0, kUndefined};
  return index;
}

// The element with a mark of the choice that led to it: another one may be as right.
template <class T>
T marked(T x, std::uint8_t marks) {
  if constexpr (kIsRunning<T>) {
    if (marks != 0) {
      x.marks |= marks;
      if (marks & (kNearTie | kUndefined)) x.e = std::numeric_limits<double>::infinity();
    }
  }
  return x;
}
template <class T>
void copy_element(const Tensor<T>& to, std::int64_t at, const Tensor<T>& from, std::int64_t index,
                  std::uint8_t marks) {
  if (to.integral()) {
    const Int<T>& i = from.integer(index);
    to.integer(at) = make_int<T>(value_of(i), marks_of(i) | marks);
  } else {
    to.real(at) = marked(from.real(index), marks);
  }
}

template <class T>
void mark_element(const Tensor<T>& to, std::int64_t at, std::uint8_t marks) {
  copy_element(to, at, to, at, marks);
}

// Adds `alpha` times what arrives to the elements of a contiguous tensor, in any order.
template <class T>
class Accumulator {
 public:
  explicit Accumulator(const Tensor<T>& out, double alpha = 1) : out_(out), alpha_(alpha) {
    if (out.integral()) return;
    sums_.resize(static_cast<std::size_t>(out.size()));
    touched_.resize(sums_.size());
  }
  void add(std::int64_t to, const Tensor<T>& from, std::int64_t at, std::uint8_t marks) {
    if (out_.integral()) {
      const Int<T>& old = out_.integer(to);
      const Int<T>& term = from.integer(at);
      const std::int64_t sum =
          wrap_add(value_of(old), wrap_mul(value_of(term), static_cast<std::int64_t>(alpha_)));
      out_.integer(to) =
          wrapped(out_.dtype(), make_int<T>(sum, marks_of(old) | marks_of(term) | marks));
      return;
    }
    const auto i = static_cast<std::size_t>(to);
    touched_[i] = true;
    const T term = marked(from.real(at), marks);
    if (alpha_ == 1) {
      sums_[i].add(term);
    } else {
      sums_[i].add_product(constant<T>(alpha_), term);
    }
  }
  // Elements that nothing was added to stay as they are.
  void finish() {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (!touched_[i]) continue;
      T& element = out_.real(static_cast<std::int64_t>(i));
      sums_[i].add(element);
      element = sums_[i].total();
    }
  }

 private:
  Tensor<T> out_;
  double alpha_;
  std::vector<Sum<T>> sums_;
  std::vector<bool> touched_;
};

// Without dimensions counts as one dimension of size 1 (as ATen's index operators see scalars).
inline Shape at_least_1d(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }
template <class T>
Tensor<T> at_least_1d(const Tensor<T>& x) {
  return x.rank() > 0 ? x : x.view({1}, {1}, x.offset());
}

}  // namespace ulpfuzz
