#include "oracle/loops.h"

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

namespace {

// One matrix product of rows of a (m, k), contiguous, and rows of b transposed (n, k), contiguous.
void product(double* out, const double* a, const double* bt, std::int64_t m, std::int64_t n,
             std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double *x = a + i * k, *y = bt + j * k;
      double s[4] = {0, 0, 0, 0};
      std::int64_t l = 0;
      for (; l + 4 <= k; l += 4) {
        for (int q = 0; q < 4; ++q) s[q] += x[l + q] * y[l + q];
      }
      for (; l < k; ++l) s[0] += x[l] * y[l];
      out[i * n + j] = (s[0] + s[1]) + (s[2] + s[3]);
    }
  }
}

template <class B>
void product(Running<B>* out, const Running<B>* a, const Running<B>* bt, std::int64_t m,
             std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      Sum<Running<B>> sum;
      const Running<B>*x = a + i * k, *y = bt + j * k;
      for (std::int64_t l = 0; l < k; ++l) sum.add_product(x[l], y[l]);
      out[i * n + j] = sum.total();
    }
  }
}

}  // namespace

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
  const std::vector<std::int64_t> of_b = positions({n, k}, {b_strides[1], b_strides[0]}, 0);
  std::vector<T> rows(of_a.size()), columns(of_b.size());
  for (std::size_t i = 0; i < bases_a.size(); ++i) {
    if (i == 0 || bases_a[i] != bases_a[i - 1]) {
      for (std::size_t j = 0; j < of_a.size(); ++j) rows[j] = a.reals()[bases_a[i] + of_a[j]];
    }
    if (i == 0 || bases_b[i] != bases_b[i - 1]) {
      for (std::size_t j = 0; j < of_b.size(); ++j) columns[j] = b.reals()[bases_b[i] + of_b[j]];
    }
    product(out.reals() + out.offset() + static_cast<std::int64_t>(i) * m * n, rows.data(),
            columns.data(), m, n, k);
  }
}

template void batched_matmul(const Tensor<double>&, const Tensor<double>&, const Tensor<double>&);
template void batched_matmul(const Tensor<Running<double>>&, const Tensor<Running<double>>&,
                             const Tensor<Running<double>>&);
template void batched_matmul(const Tensor<Running<Quad>>&, const Tensor<Running<Quad>>&,
                             const Tensor<Running<Quad>>&);

}  // namespace ulpfuzz
