#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "oracle/scalar.h"
#include "tests/ops/one_call.h"

// Where the meaning of a pointwise operator or reduction is easily mistaken: rounding, remainders,
// NaN, ties, wrapping, what eager refuses and what it leaves undefined. Expected values were taken
// from torch 2.11 on a CPU.
namespace ulpfuzz::test {
namespace {

using ::testing::ElementsAre;
using ::testing::NanSensitiveDoubleEq;

constexpr DType kF32 = DType::kFloat32;
constexpr DType kI64 = DType::kInt64;
const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

Ref ref(const char* name) { return {name, 0}; }
Scalar integer(std::int64_t value) { return {value}; }

ExactTensor result(const std::string& op, const std::vector<Operand>& operands,
                   std::vector<NamedArgument> args, int output = 0) {
  Case c = one_call(op, operands, std::move(args));
  c.program.outputs[0].output = output;
  verify(c, op_table());
  return Oracle(op_table()).exact(c).tensors.at(0);
}

ExactTensor unary(const std::string& op, DType dtype, const std::vector<double>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return result(op, {{"x", dtype, {n}, values}}, {{"self", ref("x")}});
}

ExactTensor binary(const std::string& op, DType dtype, const std::vector<double>& a,
                   const std::vector<double>& b, std::vector<NamedArgument> more = {}) {
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<NamedArgument> args{{"self", ref("a")}, {"other", ref("b")}};
  args.insert(args.end(), more.begin(), more.end());
  return result(op, {{"a", dtype, {n}, a}, {"b", dtype, {n}, b}}, std::move(args));
}

void expect_refused(const std::string& op, const std::vector<Operand>& operands,
                    std::vector<NamedArgument> args) {
  const Case c = one_call(op, operands, std::move(args));
  EXPECT_THROW(verify(c, op_table()), Error) << op;
}

void expect_reals(const ExactTensor& tensor, const std::vector<double>& expected) {
  ASSERT_EQ(tensor.values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_THAT(tensor.values[i], NanSensitiveDoubleEq(expected[i])) << "element " << i;
  }
}

// ---- division -------------------------------------------------------------------------------

TEST(Division, FloorOfTheExactQuotientNotOfTheRoundedOne) {
  // float32's 0.1 is a little more than 1/10, so that it goes 9 times into 1.
  const ExactTensor y = binary("aten.floor_divide.default", kF32, {1, -1, 0.5, 6, -1, 1},
                               {0.1, 0.1, 0.1, 0.2, kInf, 0});
  expect_reals(y, {9, -10, 4, 29, -1, kInf});
  EXPECT_EQ(y.bound[0], 0);  // decided: no near tie, although 1/0.1 rounds to 10
  EXPECT_EQ(y.marks[0], 0);
}

TEST(Division, RemainderHasTheDivisorsSign) {
  expect_reals(
      binary("aten.remainder.Tensor", kF32, {5, -5, 5, -5, 5, -5}, {3, 3, -3, -3, kInf, kInf}),
      {2, 1, -1, -2, 5, kInf});
  expect_reals(binary("aten.fmod.Tensor", kF32, {5, -5, 5, -5, 5, 5}, {3, 3, -3, -3, kInf, 0}),
               {2, -2, 2, -2, 5, kNan});
}

TEST(Division, IntegersFloorWrapAndAreUndefinedAtZero) {
  const auto low = static_cast<double>(kLowest);
  const ExactTensor floored =
      binary("aten.floor_divide.default", kI64, {7, -7, low, 1}, {-2, 2, -1, 0});
  EXPECT_THAT(floored.integers, ElementsAre(-4, -4, kLowest, 0));
  EXPECT_THAT(floored.marks, ElementsAre(0, 0, 0, kUndefined));
  EXPECT_THAT(binary("aten.remainder.Tensor", kI64, {7, -7, low}, {-2, 2, -1}).integers,
              ElementsAre(-1, 1, 0));
  const ExactTensor cut = binary("aten.div.Tensor_mode", kI64, {7, -7, low}, {-2, 2, -1},
                                 {{"rounding_mode", std::string("trunc")}});
  EXPECT_THAT(cut.integers, ElementsAre(-3, -3, kLowest));
  EXPECT_EQ(cut.marks[2], kUndefined);  // the processor traps
}

TEST(Division, TrueDivisionOfIntegersIsFloat32) {
  const ExactTensor y = binary("aten.div.Tensor", kI64, {1, 0}, {2, 0});
  EXPECT_EQ(y.type.dtype, kF32);
  expect_reals(y, {0.5, kNan});
}

TEST(Division, IntegerDivisionByTheNumberZeroIsRefused) {
  const std::vector<Operand> x{{"x", kI64, {2}, {1, 2}}};
  expect_refused("aten.remainder.Scalar", x, {{"self", ref("x")}, {"other", integer(0)}});
  expect_refused("aten.floor_divide.default", x, {{"self", ref("x")}, {"other", integer(0)}});
}

// ---- extrema, NaN, ties ---------------------------------------------------------------------

TEST(Extrema, NanPropagatesThroughMaximumAndGivesWayInFmax) {
  expect_reals(binary("aten.maximum.default", kF32, {kNan, 1, 2}, {1, kNan, 3}), {kNan, kNan, 3});
  expect_reals(binary("aten.fmax.default", kF32, {kNan, 1, kNan}, {1, kNan, kNan}), {1, 1, kNan});
  expect_reals(unary("aten.max.default", kF32, {1, kNan, 3}), {kNan});
}

TEST(Extrema, TheFirstOfEqualsAndTheFirstNanAreNamed) {
  const auto argmax = [](const std::vector<double>& x) {
    return unary("aten.argmax.default", kF32, x).integers.at(0);
  };
  EXPECT_EQ(argmax({1, 3, 3}), 1);
  EXPECT_EQ(argmax({1, kNan, 3, kNan}), 1);
  EXPECT_EQ(unary("aten.argmin.default", kF32, {2, kNan, 1}).integers.at(0), 1);
}

TEST(Extrema, ClampWithCrossedBoundsGivesMax) {
  expect_reals(result("aten.clamp.default", {{"x", kF32, {4}, {0, 2, 5, kNan}}},
                      {{"self", ref("x")}, {"min", integer(3)}, {"max", integer(1)}}),
               {1, 1, 1, kNan});
}

TEST(Extrema, SignMakesZeroOfNan) {
  expect_reals(unary("aten.sign.default", kF32, {kNan, -kInf, 0, 2}), {0, -1, 0, 1});
}

// ---- powers ---------------------------------------------------------------------------------

TEST(Power, HalvesAreSquareRootsForNumbersAndPowersForTensors) {
  const auto power = [](double exponent) {
    return result("aten.pow.Tensor_Scalar", {{"x", kF32, {2}, {-kInf, 4}}},
                  {{"self", ref("x")}, {"exponent", Scalar{exponent}}});
  };
  expect_reals(power(0.5), {kNan, 2});
  expect_reals(power(-0.5), {kNan, 0.5});
  expect_reals(
      result("aten.pow.Tensor_Tensor", {{"x", kF32, {2}, {-kInf, 4}}, {"e", kF32, {2}, {0.5, 0.5}}},
             {{"self", ref("x")}, {"exponent", ref("e")}}),
      {kInf, 2});
}

TEST(Power, IntegersWrapAndNegativeExponentsTruncate) {
  const auto power = [](DType dtype, std::vector<double> x, std::vector<double> e) {
    const auto n = static_cast<std::int64_t>(x.size());
    return result("aten.pow.Tensor_Tensor", {{"x", dtype, {n}, x}, {"e", dtype, {n}, e}},
                  {{"self", ref("x")}, {"exponent", ref("e")}})
        .integers;
  };
  EXPECT_THAT(power(kI64, {2, 3, -1, 1, 0}, {-1, -2, -3, -4, -5}), ElementsAre(0, 0, -1, 1, 0));
  EXPECT_THAT(power(DType::kInt8, {2, 3, -2}, {9, 5, 7}), ElementsAre(0, -13, -128));
  expect_refused("aten.pow.Tensor_Scalar", {{"x", kI64, {1}, {2}}},
                 {{"self", ref("x")}, {"exponent", integer(-1)}});
}

// ---- integers and promotion -----------------------------------------------------------------

TEST(Integers, NumbersTakeTheTensorsDtype) {
  const std::vector<Operand> byte{{"x", DType::kUInt8, {2}, {200, 3}}};
  const auto with = [&](const std::string& op, std::int64_t other) {
    return result(op, byte, {{"self", ref("x")}, {"other", integer(other)}}).integers;
  };
  EXPECT_THAT(with("aten.mul.Tensor", -1), ElementsAre(56, 253));
  EXPECT_THAT(with("aten.floor_divide.default", -1), ElementsAre(0, 0));  // by 255
  EXPECT_THAT(with("aten.lt.Scalar", -1), ElementsAre(1, 1));
  EXPECT_THAT(with("aten.gt.Scalar", 300), ElementsAre(1, 0));  // 300 is 44
}

TEST(Integers, ANumberWithAFractionMakesFloat32) {
  const ExactTensor y = result("aten.mul.Tensor", {{"x", kI64, {1}, {3}}},
                               {{"self", ref("x")}, {"other", Scalar{0.5}}});
  EXPECT_EQ(y.type.dtype, kF32);
  expect_reals(y, {1.5});
}

TEST(Integers, ShiftsBeyondTheWidthAreUndefined) {
  const ExactTensor y =
      binary("aten.bitwise_left_shift.Tensor", DType::kInt8, {1, 1, 1}, {7, 8, -1});
  EXPECT_EQ(y.integers[0], -128);
  EXPECT_THAT(y.marks, ElementsAre(0, kUndefined, kUndefined));
}

TEST(Integers, BoolsAddAsOrAndDoNotSubtract) {
  const Operand a{"a", DType::kBool, {2}, {1, 1}}, b{"b", DType::kBool, {2}, {1, 0}};
  const std::vector<NamedArgument> args{{"self", ref("a")}, {"other", ref("b")}};
  EXPECT_THAT(result("aten.add.Tensor", {a, b}, args).integers, ElementsAre(1, 1));
  expect_refused("aten.sub.Tensor", {a, b}, args);
  expect_refused("aten.floor_divide.default", {a, b}, args);
  expect_refused("aten.neg.default", {a}, {{"self", ref("a")}});
}

TEST(Integers, FillsCutFractionsAndRefuseWhatDoesNotFit) {
  const std::vector<Operand> operands{{"x", DType::kUInt8, {2}, {1, 2}},
                                      {"m", DType::kBool, {2}, {1, 0}}};
  const auto args = [](Scalar value) {
    return std::vector<NamedArgument>{{"self", ref("x")}, {"mask", ref("m")}, {"value", value}};
  };
  EXPECT_THAT(result("aten.masked_fill.Scalar", operands, args(Scalar{2.7})).integers,
              ElementsAre(2, 2));
  EXPECT_THAT(result("aten.masked_fill.Scalar", operands, args(integer(-1))).integers,
              ElementsAre(255, 2));
  expect_refused("aten.masked_fill.Scalar", operands, args(integer(300)));
  expect_refused("aten.masked_fill.Scalar", operands, args(Scalar{kNan}));
}

// ---- reductions -----------------------------------------------------------------------------

TEST(Reductions, SumsOfIntegersAreInt64AndConvertBeforeAdding) {
  const ExactTensor y = unary("aten.sum.default", DType::kUInt8, {200, 200});
  EXPECT_EQ(y.type.dtype, kI64);
  EXPECT_THAT(y.integers, ElementsAre(400));
  EXPECT_THAT(result("aten.sum.default", {{"x", kF32, {3}, {0.75, 0.75, 1.5}}},
                     {{"self", ref("x")}, {"dtype", DType::kInt32}})
                  .integers,
              ElementsAre(1));
  expect_refused("aten.mean.default", {{"x", kI64, {2}, {1, 2}}}, {{"self", ref("x")}});
}

TEST(Reductions, VarianceWithoutDegreesOfFreedom) {
  const auto var = [](const std::vector<double>& x, std::int64_t correction) {
    const auto n = static_cast<std::int64_t>(x.size());
    return result("aten.var.correction", {{"x", kF32, {n}, x}},
                  {{"self", ref("x")}, {"correction", integer(correction)}})
        .values.at(0);
  };
  EXPECT_TRUE(std::isnan(var({1}, 1)));
  EXPECT_EQ(var({1}, 0), 0);
  EXPECT_TRUE(std::isnan(var({1, 1, 1}, 5)));
  EXPECT_EQ(var({1, 2, 3}, 5), kInf);
  EXPECT_EQ(var({1, 2, 3}, 1), 1);
}

TEST(Reductions, LogsumexpOfInfinities) {
  const auto lse = [](const std::vector<double>& x) {
    const auto n = static_cast<std::int64_t>(x.size());
    return result("aten.logsumexp.default", {{"x", kF32, {n}, x}},
                  {{"self", ref("x")}, {"dim", dims({0})}})
        .values.at(0);
  };
  EXPECT_EQ(lse({-kInf, -kInf}), -kInf);
  EXPECT_EQ(lse({kInf, -kInf}), kInf);
  EXPECT_NEAR(lse({1000, 1000}), 1000 + std::log(2), 1e-12);
}

TEST(Reductions, NormsOfEachOrder) {
  const auto norm = [](double order) {
    return result("aten.linalg_vector_norm.default", {{"x", kF32, {3}, {3, -4, 0}}},
                  {{"self", ref("x")}, {"ord", Scalar{order}}})
        .values.at(0);
  };
  EXPECT_EQ(norm(0), 2);
  EXPECT_EQ(norm(1), 7);
  EXPECT_EQ(norm(2), 5);
  EXPECT_EQ(norm(kInf), 4);
  EXPECT_EQ(norm(-kInf), 0);
  EXPECT_NEAR(norm(3), std::cbrt(91), 1e-12);
}

TEST(Reductions, AnyAndAllOfUint8StayUint8AndNanIsTrue) {
  const ExactTensor y = unary("aten.any.default", DType::kUInt8, {0, 200});
  EXPECT_EQ(y.type.dtype, DType::kUInt8);
  EXPECT_THAT(y.integers, ElementsAre(1));
  EXPECT_THAT(unary("aten.all.default", kF32, {kNan, 1}).integers, ElementsAre(1));
}

// ---- the allowed error ----------------------------------------------------------------------

TEST(Allowance, SmallArgumentsAreHeldToUlpsOfTheResult) {
  // Implementations through 1 - exp or a polynomial in the wrong place lose these.
  for (const char* op :
       {"aten.erf.default", "aten.tanh.default", "aten.sinh.default", "aten.expm1.default",
        "aten.log1p.default", "aten.atanh.default", "aten.asinh.default"}) {
    const ExactTensor y = unary(op, kF32, {1e-8, -1e-6});
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_GT(y.bound[i], 0) << op;
      EXPECT_LT(y.bound[i], 20 * 0x1p-24 * std::fabs(y.values[i])) << op;
    }
  }
}

TEST(Allowance, AsinhOfLargeNumbersIsFiniteAndDecided) {
  const ExactTensor y = unary("aten.asinh.default", kF32, {1e20, -3e38});
  EXPECT_NEAR(y.values[0], 46.74484904044086, 1e-5);
  EXPECT_NEAR(y.values[1], -89.289993, 1e-5);
  EXPECT_LT(y.bound[0], 1e-4);
}

TEST(InPlace, WritesItsOperandAndKeepsItsDtype) {
  const std::vector<Operand> operands{{"x", kI64, {2}, {7, -7}}, {"o", kF32, {2}, {1, 2}}};
  expect_refused("aten.mul_.Tensor", operands, {{"self", ref("x")}, {"other", ref("o")}});
  const ExactTensor y =
      result("aten.copy_.default", {{"x", kI64, {2}, {7, -7}}, {"o", kF32, {2}, {1.5, -2.5}}},
             {{"self", ref("x")}, {"src", ref("o")}});
  EXPECT_THAT(y.integers, ElementsAre(1, -2));
}

}  // namespace
}  // namespace ulpfuzz::test
