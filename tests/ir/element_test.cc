#include "ir/element.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace ulpfuzz {
namespace {

TEST(Element, EveryHalfComesBack) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (int bits = 0; bits < 65536; ++bits) {
      std::array<std::byte, 8> bytes{static_cast<std::byte>(bits & 255),
                                     static_cast<std::byte>(bits >> 8)};
      const double value = load_real(dtype, bytes.data());
      std::array<std::byte, 8> again{};
      store_real(dtype, value, again.data());
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(load_real(dtype, again.data()))) << bits;
      } else {
        ASSERT_EQ(bytes, again) << bits;
        ASSERT_TRUE(same_bits(round_to(dtype, value), value)) << bits;
      }
    }
  }
}

TEST(Element, StoresTheNearestNumber) {
  std::array<std::byte, 8> bytes{};
  store_real(DType::kFloat32, 0.1, bytes.data());
  EXPECT_EQ(load_real(DType::kFloat32, bytes.data()), static_cast<double>(0.1F));
  store_real(DType::kFloat16, 1e5, bytes.data());
  EXPECT_EQ(load_real(DType::kFloat16, bytes.data()), std::numeric_limits<double>::infinity());
  store_real(DType::kFloat16, 0x1p-24, bytes.data());
  EXPECT_EQ(load_real(DType::kFloat16, bytes.data()), 0x1p-24);
}

TEST(Element, IntegersWrap) {
  std::array<std::byte, 8> bytes{};
  for (const DType dtype : {DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32,
                            DType::kInt64, DType::kBool}) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{300},
                                     std::numeric_limits<std::int64_t>::min()}) {
      store_integer(dtype, value, bytes.data());
      EXPECT_EQ(load_integer(dtype, bytes.data()), wrap_to(dtype, value));
    }
  }
}

}  // namespace
}  // namespace ulpfuzz
