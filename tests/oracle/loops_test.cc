#include "oracle/loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/product.h"
#include "oracle/sum.h"

namespace ulpfuzz {
namespace {

Tensor<double> arange(Shape shape) {
  Tensor<double> t({DType::kFloat64, std::move(shape)});
  for (std::int64_t i = 0; i < t.size(); ++i) t.real(i) = static_cast<double>(i);
  return t;
}

// Proves: rows visit every element of odd layouts once, in row-major order.
TEST(Odometer, VisitsAsUnravelSays) {
  const Shape shape = {3, 1, 4, 2}, strides = {1, 7, 6, 3};
  const std::vector<std::int64_t> all = positions(shape, strides, 5);
  ASSERT_EQ(all.size(), 24U);
  for (std::int64_t i = 0; i < 24; ++i) {
    const Shape index = unravel(i, shape);
    EXPECT_EQ(ravel(index, shape), i);
    std::int64_t at = 5;
    for (std::size_t d = 0; d < 4; ++d) at += index[d] * strides[d];
    EXPECT_EQ(all[static_cast<std::size_t>(i)], at);
  }
  EXPECT_TRUE(positions({3, 0}, {1, 1}, 0).empty());
  EXPECT_EQ(positions({}, {}, 9), std::vector<std::int64_t>{9});
}

// Proves: elementwise loops broadcast, convert integral operands, and follow strides.
TEST(Loops, MapBroadcasts) {
  const Tensor<double> a = arange({2, 3});
  const Tensor<double> t = a.view({3, 2}, {1, 3}, 0);  // transposed
  Tensor<double> i({DType::kInt32, {2}});
  i.integer(1) = 10;
  const Tensor<double> out({DType::kFloat64, {3, 2}});
  map_real(
      out, [](double x, double y) { return x + y; }, t, i);
  EXPECT_EQ(out.real(0), 0);
  EXPECT_EQ(out.real(1), 13);
  EXPECT_EQ(out.real(5), 15);

  Tensor<double> narrow_out({DType::kUInt8, {2}});
  map_int(
      narrow_out, [](std::int64_t x) { return x - 11; }, i);
  EXPECT_EQ(narrow_out.integer(0), 245);  // wrapped
  EXPECT_EQ(narrow_out.integer(1), 255);
}

// Proves: writes through a view are seen by the tensor it views.
TEST(Loops, ViewsShareStorage) {
  const Tensor<double> a = arange({2, 3});
  const Tensor<double> column = a.view({2}, {3}, 1);
  map_real(
      column, [](double x) { return -x; }, column);
  EXPECT_EQ(a.real(1), -1);
  EXPECT_EQ(a.real(4), -4);
  EXPECT_TRUE(a.shares_storage(column));
  EXPECT_FALSE(a.shares_storage(a.contiguous()));
  EXPECT_EQ(a.expand({4, 2, 3}).position(7), 1);
}

TEST(Loops, ReduceAndLines) {
  const Tensor<double> a = arange({2, 3, 4});
  std::vector<double> sums;
  reduce(a, {0, 2}, [&](std::int64_t, std::int64_t base, const auto& at) {
    double sum = 0;
    for (const std::int64_t p : at) sum += a.real(base + p);
    sums.push_back(sum);
  });
  EXPECT_EQ(sums, (std::vector<double>{60, 92, 124}));
  int lines = 0;
  for_each_line(
      1,
      [&](const Line<1>& line) {
        EXPECT_EQ(line.index, lines++);
        EXPECT_EQ(a.real(line.at[0] + 2 * line.step[0]) - a.real(line.at[0]), 8);
      },
      a);
  EXPECT_EQ(lines, 8);
}

// Proves: the matrix product of broadcast, transposed batches is the sum of products.
TEST(Loops, BatchedMatmul) {
  const Tensor<double> a = arange({2, 1, 3, 5});
  const Tensor<double> b = arange({4, 6, 5}).view({4, 5, 6}, {30, 1, 5}, 0);
  const Tensor<double> out({DType::kFloat64, {2, 4, 3, 6}});
  batched_matmul(out, a, b);
  for (const Shape& index : {Shape{0, 0, 0, 0}, Shape{1, 3, 2, 5}, Shape{1, 0, 1, 4}}) {
    double expected = 0;
    for (std::int64_t k = 0; k < 5; ++k) {
      expected += a.real(a.position(ravel({index[0], 0, index[2], k}, a.shape()))) *
                  b.real(b.position(ravel({index[1], k, index[3]}, b.shape())));
    }
    EXPECT_EQ(out.real(ravel(index, out.shape())), expected);
  }
}

// Proves: a product of matrices carries the value, error and marks of the sum of its products, in
// both modes, for blocks and for what is left over beside them.
TEST(Loops, MatrixProductIsTheSumOfProducts) {
  const std::int64_t m = 7, n = 19, k = 33;
  std::vector<Running<double>> a(static_cast<std::size_t>(m * k)),
      b(static_cast<std::size_t>(k * n));
  for (const bool exact : {true, false}) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = {std::sin(static_cast<double>(i)), exact ? 0 : 1e-3 * static_cast<double>(i % 5),
              static_cast<std::uint8_t>(i == 40 ? kNearTie : 0)};
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] = {std::cos(static_cast<double>(i)), exact ? 0 : 2e-3 * static_cast<double>(i % 3), 0};
    }
    for (const ErrorMode mode : {ErrorMode::kBound, ErrorMode::kRms}) {
      ErrorModel& model = ErrorModel::current();
      const ErrorModel before = model;
      model.unit = 0x1p-24, model.mode = mode;
      std::vector<Running<double>> out(static_cast<std::size_t>(m * n));
      matrix_product(out.data(), a.data(), b.data(), m, n, k);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          Sum<Running<double>> sum;
          for (std::int64_t l = 0; l < k; ++l) {
            sum.add_product(a[static_cast<std::size_t>(i * k + l)],
                            b[static_cast<std::size_t>(l * n + j)]);
          }
          const Running<double> expected = sum.total(),
                                got = out[static_cast<std::size_t>(i * n + j)];
          EXPECT_EQ(got.v, expected.v);
          EXPECT_NEAR(got.e, expected.e, 1e-12 * expected.e);
          EXPECT_EQ(got.marks, expected.marks);
        }
      }
      model = before;
    }
  }
}

// Proves: small integers and eighths have exact products, infinities the marks of their own rules.
TEST(Loops, MatrixProductKnowsExactSums) {
  ErrorModel& model = ErrorModel::current();
  const ErrorModel before = model;
  model.unit = 0x1p-24;
  const std::vector<Running<double>> a{{3}, {-0.125}}, b{{0.5}, {8}};
  Running<double> out;
  matrix_product(&out, a.data(), b.data(), 1, 1, 2);
  EXPECT_EQ(out.v, 0.5);
  EXPECT_EQ(out.e, 0);
  const std::vector<Running<double>> tenth{{0.1}, {-0.125}};
  matrix_product(&out, tenth.data(), b.data(), 1, 1, 2);
  EXPECT_GT(out.e, 0);
  const std::vector<Running<double>> infinite{{INFINITY}, {1}};
  matrix_product(&out, infinite.data(), b.data(), 1, 1, 2);
  EXPECT_EQ(out.v, INFINITY);
  model = before;
}

}  // namespace
}  // namespace ulpfuzz
