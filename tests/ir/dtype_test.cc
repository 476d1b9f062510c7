#include "ir/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ir/error.h"
#include "ir/run.h"

namespace ulpfuzz {
namespace {

// The numbers of a 16-bit type, by the decoder that reads what systems return.
std::vector<double> all_numbers(DType dtype) {
  TensorResult tensor;
  tensor.layout.dtype = dtype;
  tensor.bytes.resize(2 * 65536);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    std::memcpy(tensor.bytes.data() + 2 * bits, &pattern, 2);
  }
  return tensor.reals();
}

class HalfTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, HalfTypes, testing::Values(DType::kFloat16, DType::kBFloat16),
                         [](const auto& each) { return std::string(name(each.param)); });

// Every number of the type is its own rounding, sign of zero included.
TEST_P(HalfTypes, NumbersOfTheTypeAreFixed) {
  for (const double value : all_numbers(GetParam())) {
    const double rounded = round_to(GetParam(), value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(rounded));
    } else {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(rounded), std::bit_cast<std::uint64_t>(value));
    }
  }
}

// Between each two neighbours: the midpoint goes to the even one, what is a hair off it to the
// nearer one. This is all that round-to-nearest-even says, for every number there is.
TEST_P(HalfTypes, MidpointsGoToEven) {
  const std::vector<double> numbers = all_numbers(GetParam());
  for (std::size_t bits = 0; std::isfinite(numbers[bits + 1]); ++bits) {
    const double low = numbers[bits];
    const double high = numbers[bits + 1];
    const double middle = low + (high - low) / 2;  // exact in double
    const double even = bits % 2 == 0 ? low : high;
    ASSERT_EQ(round_to(GetParam(), middle), even) << middle;
    ASSERT_EQ(round_to(GetParam(), -middle), -even) << middle;
    ASSERT_EQ(round_to(GetParam(), std::nextafter(middle, 0)), low) << middle;
    ASSERT_EQ(round_to(GetParam(), std::nextafter(middle, high)), high) << middle;
  }
}

TEST_P(HalfTypes, OverflowsHalfAStepBeyondTheLargest) {
  const FloatFormat& format = float_format(GetParam());
  const double edge =
      format.max_finite + std::exp2(std::ilogb(format.max_finite) - (format.precision - 1) - 1);
  EXPECT_EQ(round_to(GetParam(), std::nextafter(edge, 0)), format.max_finite);
  EXPECT_EQ(round_to(GetParam(), edge), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(GetParam(), -edge), -std::numeric_limits<double>::infinity());
}

TEST(DTypeTest, HalvesRoundOnceFromDouble) {
  // Through float32 it would become the midpoint 1 + 2^-8, which falls to 1.
  const double value = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(round_to(DType::kBFloat16, value), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DType::kBFloat16, static_cast<double>(static_cast<float>(value))), 1.0);
}

TEST(DTypeTest, NamesParseBack) {
  for (int i = 0; i <= static_cast<int>(DType::kComplex128); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  }
  EXPECT_FALSE(parse_dtype("float8"));
}

TEST(DTypeTest, IntegersWrapAsConversionsDo) {
  EXPECT_EQ(wrap_to(DType::kInt8, 128), -128);
  EXPECT_EQ(wrap_to(DType::kUInt8, -1), 255);
  EXPECT_EQ(wrap_to(DType::kInt32, std::int64_t{1} << 31), -(std::int64_t{1} << 31));
  EXPECT_EQ(wrap_to(DType::kBool, 256), 1);
  EXPECT_EQ(min_integer(DType::kInt16), -32768);
  EXPECT_EQ(max_integer(DType::kBool), 1);
  EXPECT_THROW(min_integer(DType::kFloat32), Error);
  EXPECT_THROW(float_format(DType::kInt8), Error);
}

}  // namespace
}  // namespace ulpfuzz
