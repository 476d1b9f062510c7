#include "oracle/product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/sum.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kRows = 4, kColumns = 8;  // of a block whose sums stay in registers

// A block of the product: rows of `a`, `stride` apart, and a packed panel (k, kColumns) of `b`.
// Wider vectors hold more columns of it; no sum is split, and none is fused with its product.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add_block(double* sums, const double* a, std::int64_t stride, const double* panel,
               std::int64_t k) {
  double s[kRows][kColumns] = {};
  for (std::int64_t l = 0; l < k; ++l) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const double x = a[i * stride + l];
      for (std::int64_t j = 0; j < kColumns; ++j) s[i][j] += x * panel[l * kColumns + j];
    }
  }
  std::copy_n(&s[0][0], kRows * kColumns, sums);
}

double add_row(const double* a, const double* panel, std::int64_t column, std::int64_t k) {
  double sum = 0;
  for (std::int64_t l = 0; l < k; ++l) sum += a[l] * panel[l * kColumns + column];
  return sum;
}

// Columns [first, first + width) of b, then zeros.
void pack(std::vector<double>& panel, const double* b, std::int64_t n, std::int64_t k,
          std::int64_t first, std::int64_t width) {
  for (std::int64_t l = 0; l < k; ++l) {
    std::copy_n(b + l * n + first, width, panel.data() + l * kColumns);
  }
}

// The parts of a matrix of Running<double> that products are taken of.
struct Parts {
  std::vector<double> values;
  std::vector<double> sizes, errors;  // magnitudes and errors; kRms: their squares
  bool finite = true;
  bool exact = true;  // no element has an error
};

Parts parts_of(const Running<double>* x, std::int64_t count, bool squared) {
  Parts parts;
  const auto n = static_cast<std::size_t>(count);
  parts.values.resize(n), parts.sizes.resize(n), parts.errors.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double size = std::fabs(x[i].v), error = x[i].e;
    parts.values[i] = x[i].v;
    parts.sizes[i] = squared ? size * size : size;
    parts.errors[i] = squared ? error * error : error;
    parts.finite = parts.finite && std::isfinite(parts.sizes[i]) && std::isfinite(parts.errors[i]);
    parts.exact = parts.exact && error == 0;
  }
  return parts;
}

// What is common to the elements of a row or column: their marks, and the largest power of two that
// all are multiples of, as its exponent.
struct Line {
  std::uint8_t marks = 0;
  int grid = std::numeric_limits<int>::max() / 2;

  void include(const Running<double>& x) {
    marks |= x.marks;
    if (x.v == 0) return;
    int exponent = 0;
    const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(x.v, &exponent), 53));
    grid = std::min(grid, exponent - 53 + __builtin_ctzll(static_cast<std::uint64_t>(digits)));
  }
};

std::vector<double> product_of(const std::vector<double>& a, const std::vector<double>& b,
                               std::int64_t m, std::int64_t n, std::int64_t k) {
  std::vector<double> out(static_cast<std::size_t>(m * n));
  matrix_product(out.data(), a.data(), b.data(), m, n, k);
  return out;
}

void add(std::vector<double>& to, const std::vector<double>& x) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += x[i];
}

// As products of matrices of plain numbers.
void by_parts(Running<double>* out, const Running<double>* a, const Running<double>* b,
              std::int64_t m, std::int64_t n, std::int64_t k, const Parts& left,
              const Parts& right) {
  const auto times = [&](const auto& x, const auto& y) { return product_of(x, y, m, n, k); };
  const std::vector<double> sums = times(left.values, right.values);
  const std::vector<double> sizes = times(left.sizes, right.sizes);
  std::vector<double> errors(sums.size());
  if (!left.exact) add(errors, times(left.errors, right.sizes));
  if (!right.exact) add(errors, times(left.sizes, right.errors));
  if (!left.exact && !right.exact && ErrorModel::current().mode == ErrorMode::kBound) {
    add(errors, times(left.errors, right.errors));
  }
  std::vector<Line> rows(static_cast<std::size_t>(m)), columns(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m * k; ++i) rows[static_cast<std::size_t>(i / k)].include(a[i]);
  for (std::int64_t i = 0; i < k * n; ++i) columns[static_cast<std::size_t>(i % n)].include(b[i]);
  using Accumulator = Sum<Running<double>>;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * n + j);
      const Line &row = rows[static_cast<std::size_t>(i)],
                 &column = columns[static_cast<std::size_t>(j)];
      const bool exact =
          left.exact && right.exact && row.grid + column.grid >= -Accumulator::kGridBits;
      out[at] = Accumulator::of_products(sums[at], sizes[at], errors[at], k,
                                         static_cast<std::uint8_t>(row.marks | column.marks), exact)
                    .total();
    }
  }
}

template <class B>
void one_by_one(Running<B>* out, const Running<B>* a, const Running<B>* b, std::int64_t m,
                std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      Sum<Running<B>> sum;
      for (std::int64_t l = 0; l < k; ++l) sum.add_product(a[i * k + l], b[l * n + j]);
      out[i * n + j] = sum.total();
    }
  }
}

}  // namespace

void matrix_product(double* out, const double* a, const double* b, std::int64_t m, std::int64_t n,
                    std::int64_t k) {
  std::vector<double> panel(static_cast<std::size_t>(std::max<std::int64_t>(k, 1) * kColumns));
  double sums[kRows * kColumns];
  for (std::int64_t j = 0; j < n; j += kColumns) {
    const std::int64_t width = std::min(kColumns, n - j);
    pack(panel, b, n, k, j, width);
    std::int64_t i = 0;
    for (; i + kRows <= m; i += kRows) {
      add_block(sums, a + i * k, k, panel.data(), k);
      for (std::int64_t r = 0; r < kRows; ++r) {
        std::copy_n(sums + r * kColumns, width, out + (i + r) * n + j);
      }
    }
    for (; i < m; ++i) {
      for (std::int64_t c = 0; c < width; ++c)
        out[i * n + j + c] = add_row(a + i * k, panel.data(), c, k);
    }
  }
}

template <class B>
void matrix_product(Running<B>* out, const Running<B>* a, const Running<B>* b, std::int64_t m,
                    std::int64_t n, std::int64_t k) {
  if constexpr (std::is_same_v<B, double>) {
    const bool squared = ErrorModel::current().mode == ErrorMode::kRms;
    const Parts left = parts_of(a, m * k, squared), right = parts_of(b, k * n, squared);
    // Products of infinities have rules of their own.
    if (left.finite && right.finite) return by_parts(out, a, b, m, n, k, left, right);
  }
  one_by_one(out, a, b, m, n, k);
}

template void matrix_product(Running<double>*, const Running<double>*, const Running<double>*,
                             std::int64_t, std::int64_t, std::int64_t);
template void matrix_product(Running<Quad>*, const Running<Quad>*, const Running<Quad>*,
                             std::int64_t, std::int64_t, std::int64_t);

}  // namespace ulpfuzz
