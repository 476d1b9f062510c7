#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "generators/draw.h"

namespace ulpfuzz {
namespace {

// The published outputs of SplitMix64 for seed 0: any change would change every generated case.
TEST(Random, GivesTheStreamOfSplitMix64) {
  Random random(0);
  EXPECT_EQ(random.bits(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(random.bits(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(random.bits(), 0x06C45D188009454Fu);
}

TEST(Random, IntegerStaysInItsRangeAndReachesBothEnds) {
  Random random(1);
  std::array<int, 5> seen{};
  for (int i = 0; i < 200; ++i) {
    const std::int64_t value = random.integer(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    ++seen[static_cast<std::size_t>(value + 2)];
  }
  for (const int count : seen) EXPECT_GT(count, 15);
  EXPECT_EQ(random.integer(INT64_MAX, INT64_MAX), INT64_MAX);
  random.integer(INT64_MIN, INT64_MAX);  // a span of 2^64 must not divide by zero
}

TEST(Random, ForkDoesNotDependOnHowMuchWasDrawn) {
  Random a(7);
  const Random b(7);
  a.bits();
  EXPECT_EQ(a.fork(3).bits(), b.fork(3).bits());
  EXPECT_NE(b.fork(3).bits(), b.fork(4).bits());
  EXPECT_NE(b.fork(3).bits(), Random(8).fork(3).bits());
}

TEST(Random, WeightedNeverPicksAWeightOfZero) {
  Random random(3);
  std::vector<int> seen(4);
  for (int i = 0; i < 400; ++i) ++seen[random.weighted({0, 1, 3, 0})];
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(seen[3], 0);
  EXPECT_GT(seen[2], 2 * seen[1]);
}

}  // namespace
}  // namespace ulpfuzz
