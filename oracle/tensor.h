#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/type.h"
#include "oracle/scalar.h"

namespace ulpfuzz {

// A strided tensor of the oracle. Views share storage, so in-place operators mean what they mean in
// ATen. Floating elements are T, complex ones two T (real, imaginary) behind one another, integral
// ones Int<T>, kept wrapped to their dtype.
template <class T>
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorType type);  // contiguous, zeros, storage of its own
  // A storage of `elements` zeros seen through a layout.
  Tensor(TensorType type, Shape strides, std::int64_t offset, std::int64_t elements);
  bool defined() const { return storage_ != nullptr; }

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  const Shape& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }
  std::int64_t size() const { return element_count(type_.shape); }
  int rank() const { return static_cast<int>(type_.shape.size()); }
  bool integral() const { return is_integral(type_.dtype); }

  // A view of the same storage. The caller answers for shape, strides and offset being inside it.
  Tensor view(Shape shape, Shape strides, std::int64_t offset) const;
  // A view with stride 0 where `shape` is larger than this one's, as ATen's expand.
  Tensor expand(const Shape& shape) const;
  bool shares_storage(const Tensor& other) const { return storage_ == other.storage_; }
  Tensor contiguous() const;  // a copy
  // Copies the elements of a tensor of the same shape and kind (real, integral, complex).
  void assign(const Tensor& from) const;

  // Storage position of a logical element.
  std::int64_t position(std::int64_t linear) const;

  // Elements by storage position. Of a complex tensor, element p is real(2p) and real(2p + 1).
  // As with ATen's tensors, const is of the handle: storage is shared and stays writable.
  T& real(std::int64_t position) const {
    return storage_->reals[static_cast<std::size_t>(position)];
  }
  Int<T>& integer(std::int64_t position) const {
    return storage_->integers[static_cast<std::size_t>(position)];
  }
  // The same storage from position 0, for loops.
  T* reals() const { return storage_->reals.data(); }
  Int<T>* integers() const { return storage_->integers.data(); }
  std::int64_t storage_size() const;  // in elements
  bool is_contiguous() const;

 private:
  struct Storage {
    std::vector<T> reals;
    std::vector<Int<T>> integers;
  };
  TensorType type_;
  Shape strides_;
  std::int64_t offset_ = 0;
  std::shared_ptr<Storage> storage_;
};

}  // namespace ulpfuzz
