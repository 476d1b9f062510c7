#include "oracle/tensor.h"

#include <algorithm>

#include "oracle/odometer.h"

namespace ulpfuzz {

template <class T>
Tensor<T>::Tensor(TensorType type)
    : type_(std::move(type)), strides_(contiguous_strides(type_.shape)) {
  *this = Tensor(type_, strides_, 0, element_count(type_.shape));
}

template <class T>
Tensor<T>::Tensor(TensorType type, Shape strides, std::int64_t offset, std::int64_t elements)
    : type_(std::move(type)),
      strides_(std::move(strides)),
      offset_(offset),
      storage_(std::make_shared<Storage>()) {
  const auto n = static_cast<std::size_t>(elements);
  if (ulpfuzz::is_integral(type_.dtype)) {
    storage_->integers.resize(n);
  } else {
    storage_->reals.resize(is_complex(type_.dtype) ? 2 * n : n);
  }
}

template <class T>
Tensor<T> Tensor<T>::view(Shape shape, Shape strides, std::int64_t offset) const {
  Tensor seen = *this;
  seen.type_.shape = std::move(shape);
  seen.strides_ = std::move(strides);
  seen.offset_ = offset;
  return seen;
}

template <class T>
Tensor<T> Tensor<T>::expand(const Shape& shape) const {
  return view(shape, broadcast_strides(type_.shape, strides_, shape), offset_);
}

template <class T>
void Tensor<T>::assign(const Tensor& from) const {
  for (Rows<2> rows(type_.shape, {offset_, from.offset_}, {strides_, from.strides_}); !rows.done();
       rows.next()) {
    std::int64_t to = rows.at(0), at = rows.at(1);
    if (rows.step(0) == 1 && rows.step(1) == 1 && !integral()) {
      const std::int64_t width = is_complex(type_.dtype) ? 2 : 1;
      std::copy_n(from.reals() + at * width, rows.length() * width, reals() + to * width);
      continue;
    }
    for (std::int64_t i = 0; i < rows.length(); ++i, to += rows.step(0), at += rows.step(1)) {
      if (integral()) {
        integer(to) = from.integer(at);
      } else if (is_complex(type_.dtype)) {
        real(2 * to) = from.real(2 * at);
        real(2 * to + 1) = from.real(2 * at + 1);
      } else {
        real(to) = from.real(at);
      }
    }
  }
}

template <class T>
Tensor<T> Tensor<T>::contiguous() const {
  Tensor copy(type_);
  copy.assign(*this);
  return copy;
}

template <class T>
std::int64_t Tensor<T>::position(std::int64_t linear) const {
  std::int64_t at = offset_;
  for (std::size_t d = type_.shape.size(); d-- > 0 && linear > 0;) {
    at += strides_[d] * (linear % type_.shape[d]);
    linear /= type_.shape[d];
  }
  return at;
}

template <class T>
std::int64_t Tensor<T>::storage_size() const {
  const std::size_t n = integral()                ? storage_->integers.size()
                        : is_complex(type_.dtype) ? storage_->reals.size() / 2
                                                  : storage_->reals.size();
  return static_cast<std::int64_t>(n);
}

template <class T>
bool Tensor<T>::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t d = type_.shape.size(); d-- > 0;) {
    if (type_.shape[d] != 1 && strides_[d] != expected) return false;
    expected *= type_.shape[d];
  }
  return true;
}

template class Tensor<double>;
template class Tensor<Running<double>>;
template class Tensor<Running<Quad>>;

}  // namespace ulpfuzz
