#include "ir/dim.h"

#include <gtest/gtest.h>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

TEST(DimTest, PrintsCanonicallyAndParsesBack) {
  const Dim s0 = Dim::symbol("s0");
  const Dim s1 = Dim::symbol("s1");
  EXPECT_EQ(to_string(2 * s0 + s1 - 1), "2*s0+s1-1");
  EXPECT_EQ(to_string(Dim(0) - s1), "-s1");
  EXPECT_EQ(to_string(s0 - s0), "0");
  EXPECT_EQ(to_string(Dim(-7)), "-7");
  for (const char* text : {"0", "-7", "s0", "-s0", "2*s0+s1-1", "-3*s0+12", "s0-s1",
                           "9223372036854775807", "-9223372036854775808"}) {
    EXPECT_EQ(to_string(parse_dim(text)), text);
  }
  EXPECT_EQ(parse_dim("s0+s0"), 2 * s0);
  EXPECT_EQ(parse_dim("1+s0"), s0 + 1);
}

TEST(DimTest, EvaluatesUnderBindings) {
  EXPECT_EQ(parse_dim("2*s0+s1-1").value({{"s0", 4}, {"s1", 3}}), 10);
  EXPECT_THROW(parse_dim("s2").value({{"s0", 4}}), Error);
}

TEST(DimTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "+", "s0*2", "2*", "2**s0", "1.5", "s0 + 1", "a b", "-", "--1",
                           "9223372036854775808", "99999999999999999999*s0"}) {
    EXPECT_THROW(parse_dim(text), Error) << text;
  }
}

TEST(DimTest, ArithmeticBeyond64BitsIsAnError) {
  EXPECT_THROW(parse_dim("9223372036854775807+1"), Error);
  EXPECT_THROW(parse_dim("4611686018427387904*s0").value({{"s0", 4}}), Error);
  EXPECT_THROW(element_count({std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_EQ(element_count({std::int64_t{1} << 40, std::int64_t{1} << 40, 0}), 0);
}

TEST(DimTest, ContiguousStridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 4}), (Shape{4, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Shape{});
}

}  // namespace
}  // namespace ulpfuzz
