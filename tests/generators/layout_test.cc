#include "generators/layout.h"

#include <gtest/gtest.h>

#include <set>

namespace ulpfuzz {
namespace {

Shape random_shape(Random& random) {
  Shape shape(static_cast<std::size_t>(random.integer(0, 4)));
  for (std::int64_t& size : shape) size = random.integer(1, 5);
  return shape;
}

// The place in memory of each logical element.
std::vector<std::int64_t> places(const Shape& shape, const Shape& strides) {
  std::vector<std::int64_t> result = {0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<std::int64_t> next;
    for (const std::int64_t place : result) {
      for (std::int64_t k = 0; k < shape[i]; ++k) next.push_back(place + k * strides[i]);
    }
    result = std::move(next);
  }
  return result;
}

bool distinct(const std::vector<std::int64_t>& values) {
  return std::set<std::int64_t>(values.begin(), values.end()).size() == values.size();
}

TEST(Layout, ElementsHavePlacesOfTheirOwnUnlessExpansionIsAllowed) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const Shape shape = random_shape(random);
    InputData data;
    draw_layout(random, shape, false, data);
    EXPECT_GE(data.offset, 0);
    if (data.strides.empty()) continue;
    ASSERT_EQ(data.strides.size(), shape.size());
    for (const std::int64_t stride : data.strides) EXPECT_GE(stride, 0);
    EXPECT_TRUE(distinct(places(shape, data.strides))) << i;
    EXPECT_TRUE(is_non_overlapping(shape, data.strides)) << i;
  }
}

// What is called non-overlapping never overlaps, also for strides that draw_layout would not give.
TEST(Layout, NonOverlapIsNeverClaimedFalsely) {
  Random random(2);
  int claimed = 0;
  for (int i = 0; i < 3000; ++i) {
    const Shape shape = random_shape(random);
    Shape strides(shape.size());
    for (std::int64_t& stride : strides) stride = random.integer(0, 12);
    if (!is_non_overlapping(shape, strides)) continue;
    ++claimed;
    EXPECT_TRUE(distinct(places(shape, strides)));
  }
  EXPECT_GT(claimed, 100);
}

// Transposed, permuted, gapped, expanded, moved: each kind comes up.
TEST(Layout, AllKindsAppear) {
  Random random(3);
  const Shape shape = {2, 3, 4, 5};
  std::set<Shape> seen;
  int expanded = 0, offset = 0, sorted = 0, channels_last = 0;
  for (int i = 0; i < 1000; ++i) {
    InputData data;
    draw_layout(random, shape, true, data);
    offset += data.offset != 0;
    seen.insert(data.strides);
    if (data.strides.empty()) continue;
    expanded += std::count(data.strides.begin(), data.strides.end(), 0) != 0;
    sorted += std::is_sorted(data.strides.rbegin(), data.strides.rend());
    channels_last += data.strides == Shape{60, 1, 15, 3};
  }
  EXPECT_GT(seen.size(), 30u);
  EXPECT_GT(expanded, 50);
  EXPECT_GT(offset, 100);
  EXPECT_GT(sorted, 100);  // gaps only
  EXPECT_GT(channels_last, 10);
}

}  // namespace
}  // namespace ulpfuzz
