#include "oracle/loops.h"

#include "oracle/product.h"

namespace ulpfuzz {

Reduction::Reduction(const Shape& shape, const Shape& strides, std::int64_t offset,
                     const std::vector<std::int64_t>& dims, bool all_when_empty) {
  Shape kept_strides, reduced_strides;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool in = (dims.empty() && all_when_empty) ||
                    std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) != dims.end();
    (in ? reduced : kept).push_back(shape[d]);
    (in ? reduced_strides : kept_strides).push_back(strides[d]);
  }
  bases = ulpfuzz::positions(kept, kept_strides, offset);
  positions = ulpfuzz::positions(reduced, reduced_strides, 0);
}

template <class T>
void batched_matmul(const Tensor<T>& out, const Tensor<T>& a, const Tensor<T>& b) {
  const auto rank = static_cast<std::size_t>(out.rank());
  const std::int64_t m = out.shape()[rank - 2], n = out.shape()[rank - 1];
  const std::int64_t k = a.shape().back();
  const Shape batch(out.shape().begin(), out.shape().end() - 2);
  const auto lead = [](const Shape& s) { return Shape(s.begin(), s.end() - 2); };
  const std::vector<std::int64_t> bases_a =
      positions(batch, broadcast_strides(lead(a.shape()), lead(a.strides()), batch), a.offset());
  const std::vector<std::int64_t> bases_b =
      positions(batch, broadcast_strides(lead(b.shape()), lead(b.strides()), batch), b.offset());
  const Shape b_strides(b.strides().end() - 2, b.strides().end());
  const std::vector<std::int64_t> of_a =
      positions({m, k}, Shape(a.strides().end() - 2, a.strides().end()), 0);
  const std::vector<std::int64_t> of_b = positions({k, n}, b_strides, 0);
  std::vector<T> left(of_a.size()), right(of_b.size());
  for (std::size_t i = 0; i < bases_a.size(); ++i) {
    if (i == 0 || bases_a[i] != bases_a[i - 1]) {
      for (std::size_t j = 0; j < of_a.size(); ++j) left[j] = a.reals()[bases_a[i] + of_a[j]];
    }
    if (i == 0 || bases_b[i] != bases_b[i - 1]) {
      for (std::size_t j = 0; j < of_b.size(); ++j) right[j] = b.reals()[bases_b[i] + of_b[j]];
    }
    matrix_product(out.reals() + out.offset() + static_cast<std::int64_t>(i) * m * n, left.data(),
                   right.data(), m, n, k);
  }
}

template void batched_matmul(const Tensor<double>&, const Tensor<double>&, const Tensor<double>&);
template void batched_matmul(const Tensor<Running<double>>&, const Tensor<Running<double>>&,
                             const Tensor<Running<double>>&);
template void batched_matmul(const Tensor<Running<Quad>>&, const Tensor<Running<Quad>>&,
                             const Tensor<Running<Quad>>&);

}  // namespace ulpfuzz
