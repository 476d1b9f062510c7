#include "oracle/base_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ulpfuzz {
namespace {

struct Function {
  const char* name;
  double (*f)(double);
  Quad (*q)(const Quad&);
  double low, high;  // where points are drawn
};
#define ULPFUZZ_BOTH(name) \
#name, [](double x) { return base::name(x); }, [](const Quad& x) { return base::name(x); }
const Function kFunctions[] = {
    {ULPFUZZ_BOTH(abs), -5, 5},      {ULPFUZZ_BOTH(sqrt), 0, 50},
    {ULPFUZZ_BOTH(exp), -50, 50},    {ULPFUZZ_BOTH(exp2), -50, 50},
    {ULPFUZZ_BOTH(expm1), -3, 3},    {ULPFUZZ_BOTH(log), 0, 50},
    {ULPFUZZ_BOTH(log2), 0, 50},     {ULPFUZZ_BOTH(log10), 0, 50},
    {ULPFUZZ_BOTH(log1p), -1, 5},    {ULPFUZZ_BOTH(sin), -50, 50},
    {ULPFUZZ_BOTH(cos), -50, 50},    {ULPFUZZ_BOTH(tan), -9, 9},
    {ULPFUZZ_BOTH(asin), -1, 1},     {ULPFUZZ_BOTH(acos), -1, 1},
    {ULPFUZZ_BOTH(atan), -9, 9},     {ULPFUZZ_BOTH(sinh), -9, 9},
    {ULPFUZZ_BOTH(cosh), -9, 9},     {ULPFUZZ_BOTH(tanh), -9, 9},
    {ULPFUZZ_BOTH(asinh), -9, 9},    {ULPFUZZ_BOTH(acosh), 1, 9},
    {ULPFUZZ_BOTH(atanh), -1, 1},    {ULPFUZZ_BOTH(erf), -4, 4},
    {ULPFUZZ_BOTH(erfc), -4, 9},     {ULPFUZZ_BOTH(lgamma), -9, 30},
    {ULPFUZZ_BOTH(digamma), -9, 30}, {ULPFUZZ_BOTH(trigamma), -9, 30},
    {ULPFUZZ_BOTH(floor), -9, 9},    {ULPFUZZ_BOTH(ceil), -9, 9},
    {ULPFUZZ_BOTH(trunc), -9, 9},    {ULPFUZZ_BOTH(round_even), -9, 9},
};
#undef ULPFUZZ_BOTH

// Two numbers of the same class: both NaN, the same infinity, or close.
void expect_same(double f, const Quad& q, double tolerance, const std::string& what) {
  const double n = base::narrow(q);
  if (std::isnan(f) || std::isinf(f) || std::isnan(n) || std::isinf(n)) {
    EXPECT_EQ(std::isnan(f), std::isnan(n)) << what << ": " << f << " and " << n;
    if (!std::isnan(f)) {
      EXPECT_EQ(f, n) << what;
    }
    return;
  }
  EXPECT_NEAR(f, n, tolerance) << what;
}

// Proves: the functions of 113 bits are the functions of double, to double's accuracy.
TEST(BaseMath, QuadAgreesWithDouble) {
  std::mt19937_64 random(3);
  for (const Function& function : kFunctions) {
    std::uniform_real_distribution<double> uniform(function.low, function.high);
    for (int i = 0; i < 100; ++i) {
      const double x = uniform(random);
      const double f = function.f(x);
      // Near a pole or a zero double's special functions lose relative accuracy.
      const double tolerance = 1e-13 * std::max(1.0, std::fabs(f)) + 4e-16 * std::fabs(f);
      expect_same(f, function.q(Quad(x)), tolerance,
                  std::string(function.name) + " " + std::to_string(x));
    }
  }
}

// Proves: at zeros, infinities, NaN and the edges of domains both give C's results, and none
// throws.
TEST(BaseMath, EdgesAreCs) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> edges = {0.0, -0.0, 1,      -1,  0.5,  -0.5,        2,
                                     -2,  2.5,  -2.5,   3,   -3,   700,         -700,
                                     1e5, -1e5, 1e-300, inf, -inf, std::nan("")};
  for (const Function& function : kFunctions) {
    for (const double x : edges) {
      const double f = function.f(x);
      const Quad q = function.q(Quad(x));
      const std::string what = std::string(function.name) + " of " + std::to_string(x);
      // Beyond double's range the wider exponent may hold what double cannot.
      if (std::isinf(f) && std::fabs(x) >= 700 && !std::isinf(x)) {
        EXPECT_EQ(base::narrow(q), f) << what;
        continue;
      }
      expect_same(f, q, 1e-13 * std::max(1.0, std::fabs(f)), what);
    }
  }
  for (const double x : edges) {
    for (const double y : edges) {
      const std::string what = std::to_string(x) + ", " + std::to_string(y);
      const double power = std::pow(x, y);
      expect_same(power, base::pow(Quad(x), Quad(y)), 1e-12 * std::fabs(power) + 1e-300,
                  "pow " + what);
      expect_same(std::atan2(x, y), base::atan2(Quad(x), Quad(y)), 1e-15, "atan2 " + what);
      expect_same(std::fmod(x, y), base::fmod(Quad(x), Quad(y)), 0, "fmod " + what);
    }
  }
}

// Proves: large angles are reduced with enough digits of pi; glibc's sine is right there.
TEST(BaseMath, LargeAngles) {
  for (const double x : {1e3, 123456.789, -1e15, 0x1p80, 1e300, -1.7976931348623157e308}) {
    EXPECT_NEAR(base::narrow(base::sin(Quad(x))), std::sin(x), 1e-15) << x;
    EXPECT_NEAR(base::narrow(base::cos(Quad(x))), std::cos(x), 1e-15) << x;
    EXPECT_NEAR(base::narrow(base::tan(Quad(x))) / std::tan(x), 1, 1e-15) << x;
  }
}

// Proves: known values to more digits than double has (Abramowitz and Stegun's constants).
TEST(BaseMath, QuadHasMoreDigits) {
  const auto expect_close = [](const Quad& got, const char* expected) {
    EXPECT_LT(base::narrow(base::abs(got / Quad(expected) - 1)), 1e-31) << expected;
  };
  expect_close(base::exp(Quad(1)), "2.718281828459045235360287471352662498");
  expect_close(base::log(Quad(2)), "0.693147180559945309417232121458176568");
  expect_close(base::log1p(Quad(1)), "0.693147180559945309417232121458176568");
  expect_close(base::expm1(Quad(1)), "1.718281828459045235360287471352662498");
  expect_close(base::atan2(Quad(0), Quad(-1)), "3.141592653589793238462643383279502884");
  expect_close(base::atan2(Quad(1), Quad(1)) * 4, "3.141592653589793238462643383279502884");
  expect_close(base::erf(Quad(1)), "0.842700792949714869341220635082609259");
  expect_close(-base::digamma(Quad(1)), "0.577215664901532860606512090082402431");
  expect_close(base::trigamma(Quad(1)), "1.644934066848226436472415166646025189");
  expect_close(base::lgamma(Quad(0.5)), "0.572364942924700087071713675676529355");
}

}  // namespace
}  // namespace ulpfuzz
