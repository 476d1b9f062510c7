#include "generators/sizes.h"

#include <gtest/gtest.h>

namespace ulpfuzz {
namespace {

TEST(Sizes, ShapesKeepTheirRankAndTheLimit) {
  Random random(1);
  for (const std::int64_t limit : {1, 3, 64, 4096}) {
    for (int i = 0; i < 100; ++i) {
      const Sizes sizes(random, limit, i % 2 == 0);
      const Shape shape = sizes.shape(random, 2, 3);
      EXPECT_GE(shape.size(), 2u);
      EXPECT_LE(shape.size(), 3u);
      EXPECT_LE(element_count(shape), limit);
    }
  }
}

// A large case is there for ATen's parallel code, which begins above 32768 elements.
TEST(Sizes, LargeOnesGoBeyondTheGrainSize) {
  Random random(2);
  int beyond = 0;
  for (int i = 0; i < 200; ++i) {
    beyond += element_count(Sizes(random, 65536, true).shape(random, 1, 3)) > 32768;
  }
  EXPECT_GT(beyond, 20);
}

TEST(Sizes, SymbolsStandForTheirSizes) {
  Random random(3);
  const Sizes sizes(random, 4096, false);
  ASSERT_GE(sizes.symbols().size(), 2u);
  for (const auto& [name, value] : sizes.symbols()) {
    EXPECT_EQ(to_string(sizes.symbolic(value)), name);
  }
  EXPECT_TRUE(sizes.symbolic(1).is_constant());
}

}  // namespace
}  // namespace ulpfuzz
