// Promotion against a table taken from torch.result_type of torch 2.11.0.
#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/type.h"

namespace ulpfuzz {
namespace {

using enum DType;

TensorType t(DType dtype) { return {dtype, {3}}; }  // with a dimension
TensorType z(DType dtype) { return {dtype, {}}; }   // zero-dimensional

template <class... Operands>
DType promoted(const Operands&... operands) {
  Promotion promotion;
  (promotion.add(operands), ...);
  return promotion.result();
}

TEST(PromotionTest, NumbersCountByCategoryOnly) {
  EXPECT_EQ(promoted(t(kInt32), Scalar{0.5}), kFloat32);
  EXPECT_EQ(promoted(t(kInt32), Scalar{std::int64_t{3}}), kInt32);
  EXPECT_EQ(promoted(t(kBool), Scalar{std::int64_t{3}}), kInt64);
  EXPECT_EQ(promoted(t(kBool), Scalar{true}), kBool);
  EXPECT_EQ(promoted(t(kBFloat16), Scalar{0.5}), kBFloat16);
  EXPECT_EQ(promoted(z(kBFloat16), Scalar{0.5}), kBFloat16);
  EXPECT_EQ(promoted(z(kInt8), Scalar{0.5}), kFloat32);
  EXPECT_EQ(promoted(z(kUInt8), Scalar{std::int64_t{-1}}), kUInt8);
  EXPECT_EQ(promoted(Scalar{std::int64_t{1}}, Scalar{0.5}), kFloat32);
}

TEST(PromotionTest, ZeroDimensionalOnesYieldWithinACategory) {
  EXPECT_EQ(promoted(t(kInt32), z(kInt64)), kInt32);
  EXPECT_EQ(promoted(t(kFloat16), z(kFloat32)), kFloat16);
  EXPECT_EQ(promoted(t(kInt32), z(kFloat16)), kFloat16);
  EXPECT_EQ(promoted(t(kInt32), z(kFloat64)), kFloat64);
  EXPECT_EQ(promoted(t(kBool), z(kUInt8)), kUInt8);
  EXPECT_EQ(promoted(z(kInt64), z(kFloat32)), kFloat32);
  EXPECT_EQ(promoted(z(kFloat16), z(kFloat64)), kFloat64);
  EXPECT_EQ(promoted(z(kInt64), t(kInt8), Scalar{2.0}), kFloat32);
}

TEST(PromotionTest, EqualClassesJoin) {
  EXPECT_EQ(promoted(t(kFloat16), t(kBFloat16)), kFloat32);
  EXPECT_EQ(promoted(t(kUInt8), t(kInt8)), kInt16);
  EXPECT_EQ(promoted(t(kUInt8), t(kInt32)), kInt32);
  EXPECT_EQ(promoted(t(kUInt8), t(kBool)), kUInt8);
  EXPECT_EQ(promoted(t(kInt64), t(kFloat16)), kFloat16);
  EXPECT_EQ(promoted(t(kBFloat16), t(kFloat32)), kFloat32);
  EXPECT_EQ(promoted(t(kFloat32), t(kFloat64)), kFloat64);
}

TEST(PromotionTest, Complex) {
  EXPECT_EQ(promoted(t(kComplex64), t(kFloat64)), kComplex128);
  EXPECT_EQ(promoted(t(kComplex64), z(kFloat64)), kComplex64);
  EXPECT_EQ(promoted(t(kInt64), t(kComplex64)), kComplex64);
  EXPECT_EQ(promoted(t(kFloat64), z(kComplex64)), kComplex128);
  EXPECT_EQ(promoted(t(kFloat32), z(kComplex128)), kComplex64);
  EXPECT_EQ(promoted(t(kBFloat16), z(kComplex128)), kComplex64);
  EXPECT_EQ(promoted(t(kBFloat16), t(kComplex64)), kComplex64);
}

TEST(TypeTest, BroadcastAndDimensions) {
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast({1}, {0}), (Shape{0}));
  EXPECT_THROW(broadcast({2}, {3}), Error);
  EXPECT_THROW(broadcast({2}, {0}), Error);
  EXPECT_EQ(wrap_dim(-1, 3), 2);
  EXPECT_EQ(wrap_dim(-1, 0), 0);
  EXPECT_THROW(wrap_dim(3, 3), Error);
  EXPECT_EQ(to_string(TensorType{kFloat32, {4, 7}}), "float32[4, 7]");
}

}  // namespace
}  // namespace ulpfuzz
