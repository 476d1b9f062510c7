#include "oracle/sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/oracle/float32_model.h"

namespace ulpfuzz {
namespace {

using R = Running<double>;

// Proves: sums and dot products in float32, in any order, lie within the bound.
TEST(Sum, BoundCoversAnyOrder) {
  const Float32Model model;
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal(1, 2);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 1 + random() % 200;
    std::vector<float> x(n), y(n);
    Sum<R> sum, dot;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = normal(random), y[i] = normal(random);
      sum.add(widen<R>(x[i]));
      dot.add_product(widen<R>(x[i]), widen<R>(y[i]));
    }
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return trial % 2 ? x[a] < x[b] : a < b; });
    float s = 0, d = 0;
    for (const std::size_t i : order) s += x[i], d += x[i] * y[i];
    EXPECT_LE(std::fabs(s - sum.total().v), sum.total().e);
    EXPECT_LE(std::fabs(d - dot.total().v), dot.total().e);
  }
}

// Proves: beside an infinity the finite terms may overflow to the other one, and then the sum is
// not decided; where they cannot, it is.
TEST(Sum, TermsBesideAnInfinityMayOverflow) {
  const Float32Model model;
  const auto sum_of = [](std::initializer_list<double> terms) {
    Sum<R> sum;
    for (const double x : terms) sum.add(widen<R>(x));
    return sum.total();
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum_of({inf, -3e38, 1}).e, 0);
  const R open = sum_of({inf, -3e38, -3e38});
  EXPECT_EQ(open.e, inf);
  EXPECT_NE(open.marks & kRange, 0);
  // A product beyond double is finite in a wider format, and a term like any other.
  Sum<Running<Quad>> products;
  products.add(widen<Running<Quad>>(inf));
  products.add_product(widen<Running<Quad>>(-1e308), widen<Running<Quad>>(1e308));
  EXPECT_EQ(products.total().e, inf);
}

// Proves: the expected error, times the 0.3 that FreedomSet has, is the size of real float32 errors
// of dot products: between those of a sequential sum and those of eight lanes.
TEST(Sum, RootMeanSquareHasTheSizeOfRealErrors) {
  const Float32Model model(0, ErrorMode::kRms);
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  double sequential = 0, vectorised = 0, expected = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Sum<R> dot;
    float lanes[8] = {}, s = 0;
    for (int i = 0; i < 256; ++i) {
      const float x = normal(random), y = normal(random);
      dot.add_product(widen<R>(x), widen<R>(y));
      s += x * y;
      lanes[i % 8] += x * y;
    }
    float d = 0;
    for (const float lane : lanes) d += lane;
    sequential += std::pow(s - dot.total().v, 2);
    vectorised += std::pow(d - dot.total().v, 2);
    expected += std::pow(0.3 * dot.total().e, 2);
  }
  EXPECT_LT(vectorised, expected);
  EXPECT_LT(expected, sequential * 2);
  EXPECT_LT(sequential, expected * 2);
}

// Proves: counts are exact, and stop being so where float32 would round.
TEST(Sum, SmallIntegersAreExact) {
  const Float32Model model;
  Sum<R> sum;
  for (int i = 0; i < 4000; ++i) sum.add(widen<R>(i % 3 - 0.5));
  EXPECT_EQ(sum.total().e, 0);
  sum.add(widen<R>(1e6));
  EXPECT_GT(sum.total().e, 0);
}

// Proves: infinite terms decide, unless an undecided one is among them.
TEST(Sum, Infinities) {
  const Float32Model model;
  Sum<R> sum;
  sum.add(widen<R>(INFINITY));
  sum.add(R{1, 0.5, 0});
  EXPECT_EQ(sum.total().e, 0);
  sum.add(R{1, INFINITY, 0});
  EXPECT_EQ(sum.total().e, INFINITY);
  Sum<double> plain;
  plain.add(INFINITY);
  plain.add(1);
  EXPECT_EQ(plain.total(), INFINITY);
}

// Proves: the sum of doubles is compensated.
TEST(Sum, DoubleIsCompensated) {
  Sum<double> sum;
  for (const double x : {1.0, 1e100, 1.0, -1e100}) sum.add(x);
  EXPECT_EQ(sum.total(), 2);
}

}  // namespace
}  // namespace ulpfuzz
