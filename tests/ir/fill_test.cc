// Fills against values computed with Python's own integers and floats from the text of ir/fill.h.
#include "ir/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Kind = Fill::Kind;
using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FillTest, Normal) {
  EXPECT_THAT(generate({.kind = Kind::kNormal, .seed = 7}, DType::kFloat64, {4}).reals,
              ElementsAre(-0x1.2077b7de05200p-1, -0x1.5c2ecc74ec643p-1, 0x1.47086867da00bp-4,
                          0x1.eab62e5423858p-4));
  EXPECT_THAT(generate({.seed = 7, .scale = 0.02, .shift = 1}, DType::kFloat32, {3, 1}).reals,
              ElementsAre(0x1.fa3b0cp-1, 0x1.f9094ep-1, 0x1.0068a6p+0));
}

TEST(FillTest, Uniform) {
  const Fill fill{.kind = Kind::kUniform, .seed = 7, .scale = 2, .shift = -1};
  EXPECT_THAT(generate(fill, DType::kFloat64, {3}).reals,
              ElementsAre(-0x1.c341e1ba6cdf8p-3, -0x1.eecf0ca02f0e8p-1, 0x1.9a610202eac4ap-1));
}

TEST(FillTest, Exponent) {
  const Fill fill{.kind = Kind::kExponent, .seed = 7, .low = -20, .high = 20};
  EXPECT_THAT(generate(fill, DType::kFloat64, {3}).reals,
              ElementsAre(-0x1.5932p-12, 0x1.f43c6p+13, 0x1.bab12p-11));
}

TEST(FillTest, IntegersAndChoices) {
  const Fill integers{.kind = Kind::kInteger, .seed = 7, .low = -5, .high = 5};
  EXPECT_THAT(generate(integers, DType::kInt64, {2, 4}).integers,
              ElementsAre(1, -5, -5, 0, 4, -2, 1, 5));
  EXPECT_THAT(generate(integers, DType::kUInt8, {3}).integers, ElementsAre(1, 251, 251));
  const Fill choice{.kind = Kind::kChoice, .seed = 7, .values = {0, 0.5, -2}};
  EXPECT_THAT(generate(choice, DType::kFloat32, {8}).reals,
              ElementsAre(0.5, 0, 0, 0.5, -2, 0.5, -2, 0));
}

TEST(FillTest, SaltReplacesTheSeed) {
  const Fill fill{.kind = Kind::kNormal, .seed = 7};
  EXPECT_THAT(generate(fill, DType::kFloat64, {2}, 3).reals,
              ElementsAre(0x1.2fdddda9a030ap-4, 0x1.c7361c4220e8dp+0));
  EXPECT_EQ(
      generate({.kind = Kind::kNormal, .seed = 13232826040865663252u}, DType::kFloat64, {2}).reals,
      generate(fill, DType::kFloat64, {2}, 3).reals);
  const Fill literal{.kind = Kind::kLiteral, .values = {4}};
  EXPECT_THAT(generate(literal, DType::kFloat32, {2}, 3).reals, ElementsAre(4, 4));
}

TEST(FillTest, SpecialsReplaceSome) {
  const Fill fill{.kind = Kind::kInteger,
                  .seed = 7,
                  .low = 2,
                  .high = 2,
                  .special_rate = 32768,
                  .values = {kInfinity, -0.0, 1e30}};
  const std::vector<double> reals = generate(fill, DType::kFloat64, {8}).reals;
  EXPECT_THAT(reals, ElementsAre(2, 2, 2, 0, 1e30, 2, 2, 2));
  EXPECT_TRUE(std::signbit(reals[3]));
}

TEST(FillTest, GridMakesTheSameNumbersForEveryRung) {
  Fill fill{.kind = Kind::kNormal, .seed = 11, .grid = DType::kBFloat16};
  const std::vector<double> half = generate(fill, DType::kBFloat16, {64}).reals;
  EXPECT_EQ(generate(fill, DType::kFloat32, {64}).reals, half);
  EXPECT_EQ(generate(fill, DType::kFloat64, {64}).reals, half);
  fill.grid = DType::kFloat32;
  EXPECT_EQ(generate(fill, DType::kFloat64, {64}).reals,
            generate(fill, DType::kFloat32, {64}).reals);
}

TEST(FillTest, LiteralIntegersKeepAllBits) {
  constexpr std::int64_t kLarge = (std::int64_t{1} << 62) + 1;
  const Fill fill{.kind = Kind::kLiteral, .integers = {kLarge, -1}};
  EXPECT_THAT(generate(fill, DType::kInt64, {2}).integers, ElementsAre(kLarge, -1));
  EXPECT_THAT(generate(fill, DType::kInt8, {2}).integers, ElementsAre(1, -1));
}

TEST(FillTest, RealsBecomeIntegersByTruncationAndWrapping) {
  const Fill fill{.kind = Kind::kLiteral, .values = {-1.9, 300, kInfinity, std::nan(""), -0x1p63}};
  EXPECT_THAT(generate(fill, DType::kInt8, {5}).integers, ElementsAre(-1, 44, 0, 0, 0));
  EXPECT_THAT(generate(fill, DType::kBool, {5}).integers, ElementsAre(1, 1, 1, 1, 1));
}

TEST(FillTest, ComplexTakesTwoElementsEach) {
  const Fill fill{.kind = Kind::kArange, .scale = 0.5, .shift = 1};
  EXPECT_THAT(generate(fill, DType::kComplex64, {2}).reals, ElementsAre(1, 1.5, 2, 2.5));
}

TEST(FillTest, RefusesWhatCannotBe) {
  const auto refuses = [](const Fill& fill, DType dtype = DType::kFloat32) {
    EXPECT_THROW(generate(fill, dtype, {3}), Error);
    EXPECT_THROW(check_fill(fill, dtype, {3}), Error);
  };
  refuses({.kind = Kind::kChoice});
  refuses({.kind = Kind::kNormal, .special_rate = 1});
  refuses({.kind = Kind::kInteger, .low = 1, .high = 0});
  refuses({.kind = Kind::kExponent, .low = 0, .high = 1024});
  refuses({.kind = Kind::kLiteral, .values = {1, 2}});
  refuses({.kind = Kind::kLiteral, .integers = {1}});
  refuses({.kind = Kind::kLiteral, .values = {1}, .integers = {1}}, DType::kInt8);
  refuses({.kind = Kind::kNormal, .grid = DType::kInt8});
}

}  // namespace
}  // namespace ulpfuzz
