#include "generators/values.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace ulpfuzz {
namespace {

constexpr std::array kEdges = {1e30, 709.0, 0.0};

// A finding on ordinary numbers is worth more than one on 1e30: most elements must be ordinary.
TEST(Values, OrdinaryMagnitudesDominate) {
  Random random(1);
  std::int64_t ordinary = 0, all = 0;
  for (int i = 0; i < 1000; ++i) {
    const Fill fill = draw_fill(random, DType::kFloat32, kEdges, {});
    for (const double value : generate(fill, DType::kFloat32, {64}).reals) {
      ordinary += std::abs(value) >= 0x1p-10 && std::abs(value) <= 64;
      ++all;
      ASSERT_TRUE(std::isfinite(value));
    }
  }
  EXPECT_GT(static_cast<double>(ordinary), 0.7 * static_cast<double>(all));
}

TEST(Values, EdgesOfTheOperatorAreMixedIn) {
  Random random(2);
  int with_edges = 0;
  for (int i = 0; i < 400; ++i) {
    const Fill fill = draw_fill(random, DType::kFloat32, kEdges, {.special_share = 1});
    for (const double value : fill.values) with_edges += value == 709.0 && fill.special_rate > 0;
  }
  EXPECT_GT(with_edges, 200);
}

// float16 has no 1e30: it would be infinite, which only a case that takes it may have.
TEST(Values, EdgesBeyondTheTypeAreLeftOut) {
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    const Fill fill = draw_fill(random, DType::kFloat16, kEdges, {.special_share = 1});
    for (const double value : generate(fill, DType::kFloat16, {33}).reals) {
      EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST(Values, NumbersAreThoseOfTheType) {
  Random random(4);
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    EXPECT_EQ(draw_fill(random, dtype, {}, {}).grid, dtype);
  }
}

TEST(Values, IntegersStayWithinTheirType) {
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    const Fill fill = draw_fill(random, DType::kInt8, {}, {});
    EXPECT_GE(fill.low, -128);
    EXPECT_LE(fill.high, 127);
    EXPECT_GE(draw_fill(random, DType::kUInt8, {}, {}).low, 0);
    const Scalar number = draw_number(random, DType::kUInt8);
    EXPECT_GE(number.as_integer(), 0);
  }
}

TEST(Values, DtypesHaveTheirShares) {
  Random random(6);
  int float32 = 0, bfloat16 = 0;
  for (int i = 0; i < 2000; ++i) {
    const DType dtype = random_floating(random);
    float32 += dtype == DType::kFloat32;
    bfloat16 += dtype == DType::kBFloat16;
  }
  EXPECT_GT(float32, 1200);
  EXPECT_GT(bfloat16, 250);
}

}  // namespace
}  // namespace ulpfuzz
