#include "oracle/running.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/oracle/float32_model.h"

namespace ulpfuzz {
namespace {

using R = Running<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The same expression in float32 and in running numbers.
struct Pair {
  float f;
  R r;
};

Pair exact(float x) { return {x, widen<R>(x)}; }

Pair apply(int op, const Pair& a, const Pair& b) {
  switch (op) {
    case 0:
      return {a.f + b.f, a.r + b.r};
    case 1:
      return {a.f - b.f, a.r - b.r};
    case 2:
      return {a.f * b.f, a.r * b.r};
    case 3:
      return {a.f / b.f, a.r / b.r};
    case 4:
      return {std::sqrt(a.f), sqrt(a.r)};
    case 5:
      return {std::exp(a.f), exp(a.r)};
    case 6:
      return {std::log(a.f), log(a.r)};
    case 7:
      return {std::sin(a.f), sin(a.r)};
    case 8:
      return {std::cos(a.f), cos(a.r)};
    case 9:
      return {std::tanh(a.f), tanh(a.r)};
    case 10:
      return {std::atan2(a.f, b.f), atan2(a.r, b.r)};
    case 11:
      return {std::pow(std::fabs(a.f), b.f), pow(abs(a.r), b.r)};
    case 12:
      return {std::isnan(a.f) || a.f > b.f ? a.f : b.f, max_of(a.r, b.r)};
    case 13:
      return {std::log1p(a.f), log1p(a.r)};
    case 14:
      return {std::expm1(a.f), expm1(a.r)};
    case 15:
      return {std::asin(a.f), asin(a.r)};
    case 16:
      return {std::acosh(a.f), acosh(a.r)};
    case 17:
      return {std::atanh(a.f), atanh(a.r)};
    case 18:
      return {std::erf(a.f), erf(a.r)};
    case 19:
      return {std::lgamma(a.f), lgamma(a.r)};
    case 20:
      return {std::tan(a.f), tan(a.r)};
    case 21:
      return {std::floor(a.f), floor(a.r)};
    case 22:
      return {std::fmod(a.f, b.f), fmod(a.r, b.r)};
    case 23:
      return {1 / (1 + std::exp(-a.f)), sigmoid(a.r)};
    case 24:
      return {a.f * 0.1F, a.r * 0.1};
    case 25:
      return {a.f < b.f ? a.f : 1.0F, select(less(a.r, b.r), a.r, widen<R>(1))};
    default:
      return {std::erfc(a.f), erfc(a.r)};
  }
}
constexpr int kOps = 27;

// Proves: what float32 arithmetic and a good libm return lies within the error of the running
// number, over random expressions of up to 12 operations on ordinary numbers.
TEST(Running, ErrorCoversFloat32) {
  const Float32Model model(2);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, 3);
  int compared = 0;
  for (int expression = 0; expression < 20000; ++expression) {
    std::vector<Pair> values = {exact(normal(random)), exact(normal(random)),
                                exact(normal(random))};
    for (int step = 0; step < 12; ++step) {
      const Pair a = values[random() % values.size()];
      const Pair b = values[random() % values.size()];
      const int op = static_cast<int>(random() % kOps);
      const Pair c = apply(op, a, b);
      values.push_back(c);
      if (std::isnan(c.r.v) || std::isinf(c.r.v)) {
        if (c.r.e == 0 && c.r.marks == 0) {
          ASSERT_EQ(std::isnan(c.f), std::isnan(c.r.v))
              << "operation " << op << " of " << a.f << " (" << a.r.v << " +- " << a.r.e << ") and "
              << b.f << " (" << b.r.v << " +- " << b.r.e << ")";
        }
      } else if (!std::isinf(c.r.e)) {
        ASSERT_LE(std::fabs(c.f - c.r.v), c.r.e)
            << "operation " << op << " of " << a.f << " (" << a.r.v << " +- " << a.r.e << ") and "
            << b.f << " (" << b.r.v << " +- " << b.r.e << ")";
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100000);
}

// Proves: the error is no empty promise. After one to three operations on exact operands half of
// the errors are within a factor 30 of what float32 really does (or of a tenth of an ulp).
TEST(Running, ErrorIsOfTheRightSize) {
  const Float32Model model(2);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<float> uniform(0.5F, 3);
  std::vector<double> ratios;
  for (int expression = 0; expression < 5000; ++expression) {
    Pair value = exact(uniform(random));
    const int steps = 1 + static_cast<int>(random() % 3);
    for (int step = 0; step < steps; ++step) {
      value = apply(static_cast<int>(random() % 10), value, exact(uniform(random)));
    }
    if (!std::isfinite(value.r.e) || !std::isfinite(value.r.v)) continue;
    const double least = 0.1 * 0x1p-24 * std::fabs(value.r.v);
    ratios.push_back(value.r.e / std::max(std::fabs(value.f - value.r.v), least));
  }
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  EXPECT_LT(ratios[ratios.size() / 2], 30);
  EXPECT_GT(ratios.size(), 4000U);
}

// The slope of a function counts by its size: where cos is negative an operand's error is not taken
// off the error of sin.
TEST(Running, ErrorOfSinWhereItFalls) {
  const R x{3.0, 1e-4, 0};
  EXPECT_GE(sin(x).e, 0.98e-4);
  EXPECT_GE(cos(R{4.5, 1e-4, 0}).e, 0.97e-4);
}

// The sign of a zero is free in compiled code, and so is that of an infinity which comes of one.
TEST(Running, ASignOfInfinityThatHangsOnAZeroIsNotDecided) {
  for (const R& r : {R{1, 0, 0} / R{0, 0, 0}, pow(R{-0.0, 0, 0}, R{-3, 0, 0}), rsqrt(R{0, 0, 0})}) {
    EXPECT_TRUE(std::isinf(r.v));
    EXPECT_EQ(r.e, kInf);
    EXPECT_EQ(r.marks, kNearTie);
  }
  const R decided = R{kInf, 0, 0} / R{2, 0, 0};
  EXPECT_EQ(decided.e, 0);
  EXPECT_EQ(decided.marks, 0);
}

// Proves: an infinite error never turns into NaN or back into a finite one, in any operation.
TEST(Running, InfiniteErrorStays) {
  const Float32Model model(2);
  const R anything{1.5, kInf, 0};
  for (const double other : {0.0, 1.0, -2.0, kInf}) {
    const R b = widen<R>(other);
    EXPECT_EQ((anything + b).e, kInf) << other;
    EXPECT_EQ((anything * b).e, kInf) << other;
    EXPECT_EQ((b - anything).e, kInf) << other;
    EXPECT_EQ((b / anything).e, kInf) << other;
  }
  EXPECT_EQ(exp(anything).e, kInf);
  EXPECT_EQ(log(anything).e, kInf);
  EXPECT_EQ(pow(anything, 2.0).e, kInf);
  EXPECT_EQ(sin(anything).e, kInf);  // of an infinity it is NaN
  EXPECT_LE(sin(R{1.5, 1e3, 0}).e, 2);
  EXPECT_EQ(floor(anything).marks & kNearTie, kNearTie);
}

// Proves: infinities and NaN that every system must give have no error.
TEST(Running, DecidedInfinities) {
  const Float32Model model(2);
  const R inf = widen<R>(kInf), rough{2, 0.5, 0}, near_zero{0.1, 0.5, 0};
  EXPECT_EQ((inf + rough).e, 0);
  EXPECT_EQ((inf * rough).e, 0);
  EXPECT_EQ((inf * near_zero).e, kInf);  // may be 0 * inf, or have the other sign
  EXPECT_TRUE(std::isnan((inf - inf).v));
  EXPECT_EQ((inf - inf).e, 0);
  EXPECT_EQ((rough / inf).e, 0);
  EXPECT_EQ(exp(inf).e, 0);
  EXPECT_EQ(log(widen<R>(0)).e, 0);
  EXPECT_TRUE(std::isnan(sqrt(widen<R>(-1)).v));
  EXPECT_EQ(sqrt(widen<R>(-1)).e, 0);
  EXPECT_EQ((widen<R>(kNaN) * near_zero).e, 0);
}

// Proves: what float32 cannot hold is marked, and poles and domain edges within error are open.
TEST(Running, RangeAndPoles) {
  const Float32Model model(2);
  const R big = widen<R>(1e30);
  EXPECT_EQ((big * big).marks, kRange);
  EXPECT_EQ((big * big).e, kInf);
  EXPECT_EQ(log(R{0.1, 0.2, 0}).e, kInf);
  EXPECT_EQ(sqrt(R{0.1, 0.2, 0}).e, kInf);
  EXPECT_EQ((1.0 / R{0.1, 0.2, 0}).e, kInf);
  EXPECT_EQ(tan(R{1.57, 0.01, 0}).e, kInf);
  EXPECT_EQ(lgamma(R{-0.99, 0.02, 0}).e, kInf);
  EXPECT_GE(exp(R{0, 5, 0}).e, std::exp(5) - 1);
  const R tiny = widen<R>(1e-30) * widen<R>(1e-15);
  EXPECT_GE(tiny.e, tiny.v);  // flushing to zero is legal
}

// Proves: decisions between exact numbers are never marked, those within error always, and that a
// choice by a marked condition covers both branches.
TEST(Running, NearTies) {
  const Float32Model model;
  const R one = widen<R>(1), two = widen<R>(2), rough{1, 1e-6, 0};
  EXPECT_EQ(less(one, one).marks, 0);
  EXPECT_EQ(less(one, two).marks, 0);
  EXPECT_EQ(less(rough, one).marks, kNearTie);
  EXPECT_EQ(less(rough, two).marks, 0);
  EXPECT_EQ(equal(rough, one).marks, kNearTie);
  EXPECT_EQ(floor(R{1.5, 0.1, 0}).marks, 0);
  EXPECT_EQ(floor(R{1.5, 0.1, 0}).e, 0);
  EXPECT_EQ(floor(rough).marks, kNearTie);
  EXPECT_GE(floor(rough).e, 1);
  EXPECT_EQ(trunc(R{0, 0.1, 0}).marks, 0);  // no step there
  EXPECT_EQ(round_even(R{0.5, 0.1, 0}).marks, kNearTie);
  EXPECT_EQ(sign(R{0, 0.1, 0}).marks, kNearTie);
  EXPECT_EQ(to_integer<R>(R{2, 1e-9, 0}, DType::kInt32).marks, kNearTie);
  EXPECT_EQ(to_integer<R>(widen<R>(2.7), DType::kInt32).v, 2);
  EXPECT_EQ(to_integer<R>(widen<R>(300), DType::kUInt8).marks, kUndefined);
  EXPECT_EQ(to_integer<R>(widen<R>(kNaN), DType::kInt64).marks, kUndefined);

  const R chosen = select(less(rough, one), two, widen<R>(-3));
  EXPECT_EQ(chosen.v, -3);
  EXPECT_EQ(chosen.e, 5);
  EXPECT_EQ(chosen.marks, kNearTie);
  EXPECT_EQ(logical_and(less(rough, one), less(two, one)).marks, 0);  // false either way
}

// Proves: exact operands with a representable result stay exact, so that later comparisons decide.
TEST(Running, ExactStaysExact) {
  const Float32Model model;
  const R a = widen<R>(3), b = widen<R>(0.25);
  EXPECT_EQ((a * b + a).e, 0);
  EXPECT_GT((a / widen<R>(7)).e, 0);
  EXPECT_GT((widen<R>(16777216) + widen<R>(1)).e, 0);  // 2^24 + 1
  EXPECT_GT(from_integer<R>(MarkedInt{16777217, 0}).e, 0);
  EXPECT_EQ(from_integer<R>(MarkedInt{16777216, 0}).e, 0);
}

// Proves: in kRms mode independent errors add as squares.
TEST(Running, RootMeanSquare) {
  const Float32Model model(0, ErrorMode::kRms);
  const R sum = R{1, 3, 0} + R{1, 4, 0};
  EXPECT_NEAR(sum.e, 5, 1e-6);
}

}  // namespace
}  // namespace ulpfuzz
