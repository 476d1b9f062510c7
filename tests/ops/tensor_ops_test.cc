#include <gmock/gmock.h>

#include <cmath>

#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "oracle/scalar.h"
#include "tests/ops/one_call.h"

// Products, attention, normalisation, losses, indices and transforms on small numbers. Expected
// values were taken from torch 2.11 in float64.
namespace ulpfuzz::test {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr DType kF64 = DType::kFloat64;
const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

ExactTensor result(const std::string& op, const std::vector<Operand>& operands,
                   std::vector<NamedArgument> args) {
  const Case c = one_call(op, operands, std::move(args));
  verify(c, op_table());
  return Oracle(op_table()).exact(c).tensors.at(0);
}

void expect_near(const ExactTensor& tensor, const std::vector<double>& expected) {
  EXPECT_THAT(tensor.values, Pointwise(::testing::DoubleNear(1e-11), expected));
}

Ref ref(const char* name) { return {name, 0}; }

const std::vector<Operand> kQueryKeyValue = {{"q", kF64, {2, 2}, {1, 0, 0, 2}},
                                             {"k", kF64, {3, 2}, {1, 1, 0, 1, 2, 0}},
                                             {"v", kF64, {3, 1}, {1, 2, 4}}};
const char* const kAttention = "aten.scaled_dot_product_attention.default";
std::vector<NamedArgument> attention(std::vector<NamedArgument> more = {}) {
  std::vector<NamedArgument> args = {{"query", ref("q")}, {"key", ref("k")}, {"value", ref("v")}};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Matmul, VectorsMatricesAndBatches) {
  const Operand a{"a", kF64, {2, 2}, {1, 2, 3, 4}}, v{"v", kF64, {2}, {5, 6}};
  const auto matmul = [](const Operand& x, const Operand& y) {
    return result("aten.matmul.default", {x, y}, {{"self", ref("a")}, {"other", ref("v")}});
  };
  EXPECT_THAT(matmul(a, v).values, ElementsAre(17, 39));
  EXPECT_THAT(matmul({"a", kF64, {2}, {5, 6}}, {"v", kF64, {2, 2}, {1, 2, 3, 4}}).values,
              ElementsAre(23, 34));
  const ExactTensor dot = matmul({"a", kF64, {2}, {5, 6}}, v);
  EXPECT_TRUE(dot.type.shape.empty());
  EXPECT_THAT(dot.values, ElementsAre(61));
  const ExactTensor batch =
      matmul({"a", kF64, {2, 1, 1, 2}, {1, 2, 3, 4}}, {"v", kF64, {2, 2, 1}, {1, 0, 0, 1}});
  EXPECT_THAT(batch.type.shape, ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(batch.values, ElementsAre(1, 2, 3, 4));
}

// Eager refuses what type promotion would accept elsewhere.
TEST(Matmul, RefusesMixedDtypesAndBool) {
  const std::vector<NamedArgument> args = {{"self", ref("a")}, {"mat2", ref("b")}};
  const auto mm = [&](DType a, DType b) {
    return result("aten.mm.default", {{"a", a, {1, 1}, {1}}, {"b", b, {1, 1}, {1}}}, args);
  };
  EXPECT_THROW(mm(DType::kFloat32, DType::kFloat64), Error);
  EXPECT_THROW(mm(DType::kBool, DType::kBool), Error);
  EXPECT_EQ(mm(DType::kInt64, DType::kInt64).integers, std::vector<std::int64_t>{1});
}

// With beta = 0 the added tensor must not matter, NaN included.
TEST(Matmul, BetaZeroLeavesOutWhatIsAdded) {
  const ExactTensor y =
      result("aten.addmm.default",
             {{"s", kF64, {1}, {kNan}}, {"a", kF64, {1, 2}, {1, 2}}, {"b", kF64, {2, 1}, {3, 4}}},
             {{"self", ref("s")},
              {"mat1", ref("a")},
              {"mat2", ref("b")},
              {"beta", Scalar{0.0}},
              {"alpha", Scalar{2.0}}});
  EXPECT_THAT(y.values, ElementsAre(22));
}

// The error of a float32 product covers another order of addition.
TEST(Matmul, BoundGrowsWithTheLengthOfTheSum) {
  const std::int64_t k = 1000;
  const std::vector<double> tenth(static_cast<std::size_t>(k), static_cast<double>(0.1F));
  const ExactTensor y = result(
      "aten.dot.default", {{"a", DType::kFloat32, {k}, tenth}, {"b", DType::kFloat32, {k}, tenth}},
      {{"self", ref("a")}, {"tensor", ref("b")}});
  float in_order = 0;
  for (const double x : tenth) in_order += static_cast<float>(x) * static_cast<float>(x);
  EXPECT_GT(std::fabs(static_cast<double>(in_order) - y.values[0]), 1e-6);
  EXPECT_LT(std::fabs(static_cast<double>(in_order) - y.values[0]), y.bound[0]);
  EXPECT_LT(y.bound[0], 1e-2);
}

TEST(Attention, WeighsValues) {
  expect_near(result(kAttention, kQueryKeyValue, attention()), {2.867955280689, 1.770958629462});
  expect_near(result(kAttention, kQueryKeyValue, attention({{"scale", 1.0}})),
              {3.085753440495, 1.658447345833});
  expect_near(result(kAttention, kQueryKeyValue, attention({{"is_causal", true}})), {1, 1.5});
}

// A row that sees no key gives zeros, in every kernel for a CPU.
TEST(Attention, RowsWithoutKeysAreZero) {
  std::vector<Operand> operands = kQueryKeyValue;
  operands.push_back({"m", DType::kBool, {2, 3}, {1, 0, 1, 0, 0, 0}});
  expect_near(result(kAttention, operands, attention({{"attn_mask", ref("m")}})),
              {3.009284647980, 0});
  operands.back() = {"m", kF64, {2, 3}, {0, -kInf, 0, -kInf, -kInf, -kInf}};
  expect_near(result(kAttention, operands, attention({{"attn_mask", ref("m")}})),
              {3.009284647980, 0});
}

// A NaN query gives a NaN row; a NaN key that is masked is looked at by some kernels only.
TEST(Attention, NanIsDecidedWhereEveryKernelLooks) {
  std::vector<Operand> operands = kQueryKeyValue;
  operands[0].values[0] = kNan;
  const ExactTensor query = result(kAttention, operands, attention());
  EXPECT_TRUE(std::isnan(query.values[0]));
  EXPECT_EQ(query.marks[0], 0);
  operands = kQueryKeyValue;
  operands[1].values[5] = kNan;  // the last key, behind both queries
  const ExactTensor key = result(kAttention, operands, attention({{"is_causal", true}}));
  EXPECT_NE(key.marks[0] & kUndefined, 0);
}

TEST(Attention, GroupedQueriesShareHeads) {
  const std::vector<Operand> operands = {{"q", kF64, {4, 1, 1}, {1, 2, 3, 4}},
                                         {"k", kF64, {2, 1, 1}, {1, 1}},
                                         {"v", kF64, {2, 1, 1}, {5, 7}}};
  EXPECT_THAT(result(kAttention, operands, attention({{"enable_gqa", true}})).values,
              ElementsAre(5, 5, 7, 7));
  EXPECT_THROW(result(kAttention, operands, attention()), Error);
}

const Operand kRows{"x", kF64, {2, 3}, {1, 2, 4, 0, 0, 3}};

TEST(Norm, LayerAndRms) {
  expect_near(result("aten.layer_norm.default", {kRows},
                     {{"input", ref("x")}, {"normalized_shape", dims({3})}}),
              {-1.069041531450, -0.267260382863, 1.336301914313, -0.707105013426, -0.707105013426,
               1.414210026852});
  expect_near(result("aten.rms_norm.default", {kRows},
                     {{"input", ref("x")}, {"normalized_shape", dims({3})}, {"eps", 1e-6}}),
              {0.377964446012, 0.755928892024, 1.511857784047, 0, 0, 1.732050518894});
}

TEST(Norm, GroupsOfChannels) {
  expect_near(
      result("aten.group_norm.default",
             {{"x", kF64, {1, 4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}}, {"w", kF64, {4}, {1, 2, 3, 4}}},
             {{"input", ref("x")}, {"num_groups", Dim(2)}, {"weight", ref("w")}}),
      {-1.341635419969, -0.447211806656, 0.894423613313, 2.683270839938, -4.024906259907,
       -1.341635419969, 1.788847226625, 5.366541679876});
}

// E[x^2] - mean^2 is legal: with a large mean its error is what the bound allows, and no more.
TEST(Norm, BoundCoversOnePassVariance) {
  const auto layer_norm = [](double mean) {
    const Operand x{"x", DType::kFloat32, {4}, {mean - 1, mean + 1, mean - 1, mean + 1}};
    return result("aten.layer_norm.default", {x},
                  {{"input", ref("x")}, {"normalized_shape", dims({4})}});
  };
  EXPECT_LT(layer_norm(0).bound[0], 1e-5);
  const ExactTensor y = layer_norm(1024);
  const float mean = 1024, squares = 1024.0F * 1024.0F + 1;  // rounds to 2^20
  const double variance = static_cast<double>(squares) - 1024.0 * 1024.0 + 0 * mean;
  const double one_pass = -1 / std::sqrt(std::max(variance, 0.5) + 1e-5);
  EXPECT_LT(std::fabs(one_pass - y.values[0]), y.bound[0]);
}

TEST(Softmax, LinesAndTheirLogarithm) {
  expect_near(result("aten.softmax.int", {kRows}, {{"self", ref("x")}, {"dim", Dim(-1)}}),
              {0.042010066134, 0.114195199385, 0.843794734481, 0.045278500744, 0.045278500744,
               0.909442998513});
  expect_near(result("aten.log_softmax.int", {kRows}, {{"self", ref("x")}, {"dim", Dim(0)}}),
              {-0.313261687518, -0.126928011043, -0.313261687518, -1.313261687518, -2.126928011043,
               -1.313261687518});
  const ExactTensor masked = result("aten.softmax.int", {{"x", kF64, {2}, {-kInf, -kInf}}},
                                    {{"self", ref("x")}, {"dim", Dim(0)}});
  EXPECT_THAT(masked.values, Each(::testing::IsNan()));
}

TEST(Loss, CrossEntropyIgnoresAndWeighs) {
  const std::vector<NamedArgument> args = {{"self", ref("x")}, {"target", ref("t")}};
  expect_near(result("aten.cross_entropy_loss.default",
                     {kRows, {"t", DType::kInt64, {2}, {2, -100}}}, args),
              {0.169846019556});
  std::vector<NamedArgument> weighted = args;
  weighted.push_back({"weight", ref("w")});
  expect_near(
      result("aten.cross_entropy_loss.default",
             {kRows, {"t", DType::kInt64, {2}, {2, 0}}, {"w", kF64, {3}, {1, 2, 3}}}, weighted),
      {0.901115253772});
}

TEST(Loss, LogitsEntropy) {
  expect_near(result("aten.binary_cross_entropy_with_logits.default",
                     {{"x", kF64, {2}, {1, -2}}, {"t", kF64, {2}, {0, 1}}},
                     {{"self", ref("x")}, {"target", ref("t")}, {"reduction", Dim(0)}}),
              {1.313261687518, 2.126928011043});
}

const Operand kMatrix{"x", kF64, {2, 3}, {0, 1, 2, 3, 4, 5}};

TEST(Index, GatherScatterSelect) {
  EXPECT_THAT(result("aten.gather.default", {kMatrix, {"i", DType::kInt64, {1, 2}, {1, 0}}},
                     {{"self", ref("x")}, {"dim", Dim(0)}, {"index", ref("i")}})
                  .values,
              ElementsAre(3, 1));
  EXPECT_THAT(
      result("aten.scatter_add.default",
             {kMatrix, {"i", DType::kInt64, {1, 3}, {2, 2, 0}}, {"s", kF64, {1, 3}, {10, 20, 30}}},
             {{"self", ref("x")}, {"dim", Dim(1)}, {"index", ref("i")}, {"src", ref("s")}})
          .values,
      ElementsAre(30, 1, 32, 3, 4, 5));
  EXPECT_THAT(result("aten.index_select.default", {kMatrix, {"i", DType::kInt32, {2}, {2, 2}}},
                     {{"self", ref("x")}, {"dim", Dim(1)}, {"index", ref("i")}})
                  .values,
              ElementsAre(2, 2, 5, 5));
}

// Index dimensions stay where they are when adjacent, and come first otherwise.
TEST(Index, PlacesOfIndexDimensions) {
  Operand x{"x", kF64, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const Operand i{"i", DType::kInt64, {1, 3}, {1, 0, -1}};
  const auto shape = [&](std::vector<Ref> indices) {
    return result("aten.index.Tensor", {x, i}, {{"self", ref("x")}, {"indices", indices}});
  };
  EXPECT_THAT(shape({Ref{}, ref("i")}).type.shape, ElementsAre(2, 1, 3, 2));
  const ExactTensor apart = shape({ref("i"), Ref{}, ref("i")});
  EXPECT_THAT(apart.type.shape, ElementsAre(1, 3, 2));
  EXPECT_THAT(apart.values, ElementsAre(5, 7, 0, 2, 5, 7));
}

// Two values for one place: either may stay, so neither is held against a system.
TEST(Index, WritesToOnePlaceAreUndefined) {
  const auto put = [](std::vector<double> at, bool accumulate) {
    return result(
        "aten.index_put.default",
        {{"x", kF64, {3}, {0, 0, 0}}, {"i", DType::kInt64, {2}, at}, {"v", kF64, {2}, {1, 2}}},
        {{"self", ref("x")},
         {"indices", std::vector<Ref>{ref("i")}},
         {"values", ref("v")},
         {"accumulate", accumulate}});
  };
  EXPECT_THAT(put({0, 2}, false).values, ElementsAre(1, 0, 2));
  EXPECT_THAT(put({0, 2}, false).marks, Each(0));
  EXPECT_EQ(put({1, 1}, false).marks[1], kUndefined);
  EXPECT_THAT(put({1, -2}, true).values, ElementsAre(0, 3, 0));
}

// ATen's CPU kernel adds 4096 ones up to 256 in bfloat16; a wide accumulator gives 4096.
TEST(Index, EmbeddingBackwardMayAccumulateNarrowly) {
  const std::int64_t n = 4096;
  const ExactTensor g =
      result("aten.embedding_dense_backward.default",
             {{"g", DType::kBFloat16, {n, 1}, {1}}, {"i", DType::kInt64, {n}, {0}}},
             {{"grad_output", ref("g")},
              {"indices", ref("i")},
              {"num_weights", Dim(1)},
              {"padding_idx", Dim(-1)},
              {"scale_grad_by_freq", false}});
  EXPECT_THAT(g.values, ElementsAre(4096));
  EXPECT_GT(g.bound[0], 4096 - 256);
}

TEST(Join, PromotesAndLeavesEmptyTensorsOut) {
  const ExactTensor y =
      result("aten.cat.default",
             {{"a", DType::kInt64, {1, 2}, {1, 2}}, {"e", DType::kFloat16, {0}, {}}, kMatrix},
             {{"tensors", std::vector<Ref>{ref("a"), ref("e")}}, {"dim", Dim(0)}});
  EXPECT_EQ(y.type, (TensorType{DType::kFloat16, {1, 2}}));
  EXPECT_THAT(y.values, ElementsAre(1, 2));
}

TEST(Cast, CutsOffAndMarksWhatDoesNotFit) {
  const ExactTensor y = result("aten.to.dtype", {{"x", DType::kFloat32, {3}, {1.75, -1.75, 300}}},
                               {{"self", ref("x")}, {"dtype", DType::kInt8}});
  EXPECT_EQ(y.integers[0], 1);
  EXPECT_EQ(y.integers[1], -1);
  EXPECT_EQ(y.marks[2], kUndefined);
}

TEST(Fft, RealForwardAndScaledInverse) {
  const Operand x{"x", DType::kFloat32, {3}, {1, 2, 4}};
  const ExactTensor forward = result("aten.fft_rfft.default", {x}, {{"self", ref("x")}});
  EXPECT_EQ(forward.type, (TensorType{DType::kComplex64, {2}}));
  EXPECT_THAT(forward.values, Pointwise(DoubleNear(1e-12), {7.0, 0.0, -2.0, std::sqrt(3.0)}));
  const ExactTensor inverse =
      result("aten.fft_ifft.default", {x}, {{"self", ref("x")}, {"norm", std::string("ortho")}});
  EXPECT_THAT(inverse.values,
              Pointwise(DoubleNear(1e-12), {7 / std::sqrt(3.0), 0.0, -2 / std::sqrt(3.0), -1.0,
                                            -2 / std::sqrt(3.0), 1.0}));
  EXPECT_THROW(
      result("aten.fft_rfft.default", {{"x", DType::kFloat16, {2}, {1, 2}}}, {{"self", ref("x")}}),
      Error);
}

}  // namespace
}  // namespace ulpfuzz::test
