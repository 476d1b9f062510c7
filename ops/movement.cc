#include "ops/movement.h"

#include <algorithm>

namespace ulpfuzz {

Layout cut(const Layout& self, int dim, std::int64_t start, std::int64_t length,
           std::int64_t step) {
  Layout layout = self;
  const auto at = static_cast<std::size_t>(dim);
  layout.offset += start * layout.strides[at];
  layout.shape[at] = length;
  layout.strides[at] *= step;
  return layout;
}

Shape resolve_shape(const Call& call, const std::vector<std::int64_t>& sizes, std::int64_t count) {
  Shape shape = sizes;
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& size : shape) {
    if (size == -1) {
      if (open != nullptr) call.fail("only one size may be -1");
      open = &size;
    } else if (size < 0) {
      call.fail("a size is " + std::to_string(size));
    } else {
      known *= size;
    }
  }
  if (open != nullptr) {
    if (known == 0) call.fail("the size that is -1 is not determined");
    if (count % known != 0) call.fail("the shape does not fit the number of elements");
    *open = count / known;
  } else if (known != count) {
    call.fail("the shape does not fit the number of elements");
  }
  return shape;
}

std::vector<int> distinct_dims(const Call& call, const std::vector<std::int64_t>& dims,
                               std::size_t rank) {
  std::vector<int> wrapped;
  for (const std::int64_t dim : dims) {
    const int at = wrap_dim(dim, rank);
    if (std::find(wrapped.begin(), wrapped.end(), at) != wrapped.end()) {
      call.fail("dimension " + std::to_string(dim) + " appears twice");
    }
    wrapped.push_back(at);
  }
  return wrapped;
}

Ref reshaped(Backward& b, const Ref& x, const Shape& shape) {
  const std::vector<Dim> sizes(shape.begin(), shape.end());
  return b.emit("aten.reshape.default", {{"self", x}, {"shape", sizes}});
}

Ref zeros_of(Backward& b, const TensorType& type) {
  const std::vector<Dim> sizes(type.shape.begin(), type.shape.end());
  return b.emit("aten.full.default",
                {{"size", sizes}, {"fill_value", Scalar{0.0}}, {"dtype", type.dtype}});
}

void derive_by_reshape(Backward& b) {
  b.contribute("self", reshaped(b, b.gradient(), b.call().tensor("self").shape));
}

}  // namespace ulpfuzz
