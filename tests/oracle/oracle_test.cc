#include "oracle/oracle.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/table.h"
#include "oracle/task.h"
#include "tests/oracle/programs.h"

namespace ulpfuzz {
namespace {

constexpr DType kF64 = DType::kFloat64, kF32 = DType::kFloat32, kBF16 = DType::kBFloat16,
                kF16 = DType::kFloat16;

// q1 cos + q2 sin, as rotary embeddings compute it.
Case rope(DType dtype) {
  return CaseText()
      .input("q1", dtype, {1}, literal({2.40625}))
      .input("q2", dtype, {1}, literal({2.296875}))
      .input("cos", dtype, {1}, literal({5.9375}))
      .input("sin", dtype, {1}, literal({-6.21875}))
      .node("a", "aten.mul.Tensor", {{"self", ref("q1")}, {"other", ref("cos")}})
      .node("b", "aten.mul.Tensor", {{"self", ref("q2")}, {"other", ref("sin")}})
      .node("c", "aten.add.Tensor", {{"self", ref("a")}, {"other", ref("b")}})
      .output("c")
      .get();
}

// Proves: the golden case is 7/2048 exactly in every dtype; bfloat16's eager answer, 0, is within
// the bound there, and far outside it in float32.
TEST(Exact, GoldenRope) {
  const Oracle oracle(op_table());
  for (const DType dtype : {kBF16, kF32, kF64}) {
    const Exact exact = oracle.exact(rope(dtype));
    ASSERT_EQ(exact.tensors.size(), 1U);
    EXPECT_EQ(exact.tensors[0].name, "output 0");
    EXPECT_EQ(exact.tensors[0].values, std::vector<double>{7.0 / 2048});
    EXPECT_EQ(exact.quad, dtype == kF64);
  }
  EXPECT_GE(oracle.exact(rope(kBF16)).tensors[0].bound[0], 7.0 / 2048);
  EXPECT_LT(oracle.exact(rope(kBF16)).tensors[0].bound[0], 0.25);
  EXPECT_LT(oracle.exact(rope(kF32)).tensors[0].bound[0], 1e-5);
}

// Proves: legal executions that round every node give eager's 0; those that may not, both answers.
TEST(Legal, GoldenRope) {
  const Oracle oracle(op_table());
  const LegalRuns eager = oracle.legal(rope(kBF16), 0, eager_freedom(), 20, 1);
  for (const auto& run : eager.values[0]) EXPECT_EQ(run[0], 0);
  const LegalRuns fusing = oracle.legal(rope(kBF16), 0, fusing_freedom(), 60, 1);
  int zeros = 0, exact = 0;
  for (const auto& run : fusing.values[0]) {
    zeros += run[0] == 0;
    exact += std::fabs(run[0] - 7.0 / 2048) < 1e-4;
  }
  EXPECT_GT(zeros, 0);
  EXPECT_GT(exact, 0);
}

// Proves: the runs depend on the seed alone, and on it.
TEST(Legal, Deterministic) {
  const Case test = CaseText()
                        .input("x", kF32, {4, 64}, normal(1, kF32))
                        .input("w", kF32, {64, 8}, normal(2, kF32))
                        .node("y", "aten.mm.default", {{"self", ref("x")}, {"mat2", ref("w")}})
                        .output("y")
                        .gradients({"x", "w"}, normal(3, kF32))
                        .get();
  const Oracle oracle(op_table());
  const LegalRuns a = oracle.legal(test, 0, fusing_freedom(), 3, 7);
  EXPECT_EQ(a.values, oracle.legal(test, 0, fusing_freedom(), 3, 7).values);
  EXPECT_NE(a.values, oracle.legal(test, 0, fusing_freedom(), 3, 8).values);
  ASSERT_EQ(a.values.size(), 3U);
  EXPECT_NE(a.values[0][0], a.values[0][1]);
  EXPECT_NE(a.values[2][0], a.values[2][1]);
}

// Proves: legal runs lie within the bound, forward and backward, in every dtype.
TEST(Legal, WithinTheBound) {
  for (const DType dtype : {kBF16, kF16, kF32}) {
    const Case test =
        CaseText()
            .input("x", dtype, {6, 32}, normal(1, dtype))
            .input("w", dtype, {32, 16}, normal(2, dtype))
            .node("y", "aten.mm.default", {{"self", ref("x")}, {"mat2", ref("w")}})
            .node("t", "aten.tanh.default", {{"self", ref("y")}})
            .node("u", "aten.mul.Tensor", {{"self", ref("t")}, {"other", number(0.1)}})
            .node("z", "aten.add.Tensor", {{"self", ref("u")}, {"other", ref("y")}})
            .output("z")
            .gradients({"x", "w"}, normal(3, dtype))
            .get();
    const Oracle oracle(op_table());
    const Exact exact = oracle.exact(test);
    for (const FreedomSet& freedom : {eager_freedom(), fusing_freedom()}) {
      const LegalRuns legal = oracle.legal(test, 0, freedom, 6, 1);
      for (std::size_t t = 0; t < exact.tensors.size(); ++t) {
        const ExactTensor& tensor = exact.tensors[t];
        for (const auto& run : legal.values[t]) {
          for (std::size_t i = 0; i < run.size(); ++i) {
            ASSERT_LE(std::fabs(run[i] - tensor.values[i]), tensor.bound[i])
                << name(dtype) << " " << freedom.name << " " << tensor.name << " " << i;
          }
        }
      }
    }
  }
}

// Proves: a program that writes in place, through a view, gives what its functional form gives, and
// the written input is among the results.
TEST(Exact, InPlaceIsFunctional) {
  const Case test =
      CaseText()
          .input("x", kF32, {3, 4}, normal(4, kF32))
          .input("y", kF32, {3}, normal(5, kF32))
          .node("v", "aten.select.int", {{"self", ref("x")}, {"dim", Dim(1)}, {"index", Dim(2)}})
          .node("w", "aten.mul_.Tensor", {{"self", ref("v")}, {"other", ref("y")}})
          .node("z", "aten.add.Tensor", {{"self", ref("x")}, {"other", number(1)}})
          .output("z")
          .output("w")
          .get();
  const Oracle oracle(op_table());
  const Exact exact = oracle.exact(test);
  ASSERT_EQ(exact.tensors.size(), 3U);
  EXPECT_EQ(exact.tensors[2].name, "x after");
  const Elements x = generate(test.inputs[0].fill, kF32, {3, 4});
  const Elements y = generate(test.inputs[1].fill, kF32, {3});
  for (std::size_t i = 0; i < 12; ++i) {
    const double after = i % 4 == 2 ? x.reals[i] * y.reals[i / 4] : x.reals[i];
    EXPECT_EQ(exact.tensors[2].values[i], after);
    EXPECT_EQ(exact.tensors[0].values[i], after + 1);
  }
  FreedomSet none{"none", 0, 0, 1};  // functional, rounded to float32 alone
  const LegalRuns functional = oracle.legal(test, 0, none, 1, 0);
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < exact.tensors[t].values.size(); ++i) {
      EXPECT_NEAR(functional.values[t][0][i], exact.tensors[t].values[i],
                  exact.tensors[t].bound[i]);
    }
  }
}

// Proves: inputs that share a storage see each other's writes.
TEST(Exact, AliasedInputs) {
  Case test = CaseText()
                  .input("x", kF64, {4}, literal({1, 2, 3, 4}))
                  .input("y", kF64, {2}, literal({0}))
                  .node("z", "aten.add.Tensor", {{"self", ref("y")}, {"other", number(0.5)}})
                  .output("z")
                  .get();
  test.inputs[0].alias = test.inputs[1].alias = 0;
  test.inputs[1].offset = 2;
  EXPECT_EQ(Oracle(op_table()).exact(test).tensors[0].values, (std::vector<double>{3.5, 4.5}));
}

// Proves: a decision within error of its edge is marked and open, one on inputs is not.
TEST(Exact, MarksNearTies) {
  const Case test = CaseText()
                        .input("x", kF32, {3}, literal({0.1, 1, 2}))
                        .node("y", "aten.mul.Tensor", {{"self", ref("x")}, {"other", number(10)}})
                        .node("a", "aten.floor.default", {{"self", ref("y")}})
                        .node("b", "aten.floor.default", {{"self", ref("x")}})
                        .output("a")
                        .output("b")
                        .get();
  const Exact exact = Oracle(op_table()).exact(test);
  EXPECT_EQ(exact.tensors[0].marks, (std::vector<std::uint8_t>{kNearTie, 0, 0}));
  EXPECT_GE(exact.tensors[0].bound[0], 1);
  EXPECT_EQ(exact.tensors[1].marks, (std::vector<std::uint8_t>{0, 0, 0}));
}

// Proves: an index of a maximum may be any whose value is within error of the best, and no other;
// of equal values without an error the first, as torch documents; NaN is the best of all.
TEST(Exact, AcceptableIndices) {
  const Case test =
      CaseText()
          .input("x", kF32, {3, 4}, literal({1, 3, 3, 2, 0.1, 0.2, 0.3, 0.1, NAN, 1, 5, NAN}))
          .node("a", "aten.argmax.default", {{"self", ref("x")}, {"dim", Dim(1)}})
          .node("t", "aten.tanh.default", {{"self", ref("x")}})
          .node("n", "aten.neg.default", {{"self", ref("t")}})
          .node("m", "aten.min.dim", {{"self", ref("n")}, {"dim", Dim(0)}})
          .output("a")
          .output("m", 1)
          .get();
  const Exact exact = Oracle(op_table()).exact(test);
  using Sets = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(exact.tensors[0].acceptable, (Sets{{1}, {2}, {0, 3}}));
  EXPECT_EQ(exact.tensors[1].acceptable, (Sets{{2}, {0}, {2}, {2}}));
  EXPECT_TRUE(exact.tensors[0].marks[0] == 0);
}

// Proves: where the tie is one of results that have an error, or of integers that a double does not
// tell apart, nothing is decided.
TEST(Exact, TiesInDoubtAreOpen) {
  const double big = 0x1p60;
  const Case test = CaseText()
                        .input("x", kF32, {3}, literal({0.3, 0.3, 0.1}))
                        .input("i", DType::kInt64, {3}, literal({big, big, 7}))
                        .node("t", "aten.tanh.default", {{"self", ref("x")}})
                        .node("a", "aten.argmax.default", {{"self", ref("t")}})
                        .node("b", "aten.argmax.default", {{"self", ref("i")}})
                        .output("a")
                        .output("b")
                        .get();
  const Exact exact = Oracle(op_table()).exact(test);
  using Sets = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(exact.tensors[0].acceptable, (Sets{{0, 1}}));
  EXPECT_EQ(exact.tensors[1].acceptable, (Sets{{0, 1}}));
}

// Proves: of a bfloat16 product that a bias is added to, and of a square, legal executions nearly
// always give the exact result rounded once, as ATen's kernels do; of a square root's reciprocal,
// which ATen's scalar code rounds twice, they do not.
TEST(Legal, RoundsOnceWhereKernelsDo) {
  Fill fill;
  fill.kind = Fill::Kind::kNormal;
  fill.grid = kBF16;
  const Case test =
      CaseText()
          .input("x", kBF16, {64, 16}, fill)
          .input("w", kBF16, {8, 16}, fill)
          .input("b", kBF16, {8}, fill)
          .node("y", "aten.linear.default",
                {{"input", ref("x")}, {"weight", ref("w")}, {"bias", ref("b")}})
          .node("s", "aten.pow.Tensor_Scalar", {{"self", ref("x")}, {"exponent", number(2)}})
          .node("a", "aten.abs.default", {{"self", ref("x")}})
          .node("r", "aten.rsqrt.default", {{"self", ref("a")}})
          .output("y")
          .output("s")
          .output("r")
          .get();
  const Oracle oracle(op_table());
  const Exact exact = oracle.exact(test);
  const LegalRuns legal = oracle.legal(test, 0, eager_freedom(), 4, 1);
  std::vector<double> shares;  // of elements that are not the exact value rounded
  for (std::size_t t = 0; t < exact.tensors.size(); ++t) {
    double differ = 0, all = 0;
    for (const std::vector<double>& run : legal.values[t]) {
      for (std::size_t i = 0; i < run.size(); ++i, ++all) {
        differ += run[i] != round_to(kBF16, exact.tensors[t].values[i]);
      }
    }
    shares.push_back(differ / all);
  }
  EXPECT_LT(shares[0], 0.02);
  EXPECT_LT(shares[1], 0.02);
  EXPECT_GT(shares[2], 0.1);
}

// Proves: expected errors have a bound where worst cases have none, and none where a legal
// execution may meet a pole or leave the range of a dtype; values are the same.
TEST(Expected, IsFiniteWhereRandomErrorsKeepAwayFromPoles) {
  // tanh is within 0.003 of exact in bfloat16, so a float32 sum of 256 is 195.8 +- 0.77 at worst.
  const Case test =
      CaseText()
          .input("x", kBF16, {256, 16}, literal(std::vector<double>(4096, 1.0078125)))
          .input("d", kBF16, {2}, literal({1, 1.0078125}))
          .input("h", kF16, {1}, literal({300}))
          .node("a", "aten.tanh.default", {{"self", ref("x")}})
          .node("s", "aten.sum.dim_IntList",
                {{"self", ref("a")}, {"dim", std::vector<Dim>{0}}, {"dtype", DType::kFloat32}})
          .node("m", "aten.sub.Tensor", {{"self", ref("s")}, {"other", number(195.3)}})
          .node("q", "aten.reciprocal.default", {{"self", ref("m")}})
          .node("t", "aten.tanh.default", {{"self", ref("d")}})
          .node("z", "aten.sub.Tensor", {{"self", ref("t")}, {"other", number(0.76171875)}})
          .node("p", "aten.reciprocal.default", {{"self", ref("z")}})
          .node("o", "aten.mul.Tensor", {{"self", ref("h")}, {"other", ref("h")}})
          .node("r", "aten.mul.Tensor", {{"self", ref("o")}, {"other", number(0.0009765625)}})
          .output("q")
          .output("p")
          .output("r")
          .get();
  const Exact exact = Oracle(op_table()).exact(test);
  const Exact expected = Oracle(op_table()).expected(test);
  for (std::size_t t = 0; t < exact.tensors.size(); ++t) {
    EXPECT_EQ(exact.tensors[t].values, expected.tensors[t].values);
  }
  EXPECT_FALSE(std::isfinite(exact.tensors[0].bound[0]));
  EXPECT_TRUE(std::isfinite(expected.tensors[0].bound[0]));
  EXPECT_FALSE(std::isfinite(expected.tensors[1].bound[0]));  // 1 / (tanh(1) - 0.7617)
  EXPECT_FALSE(std::isfinite(expected.tensors[2].bound[0]));  // 90000 in float16
}

// Proves: a float16 intermediate that may overflow opens what depends on it.
TEST(Exact, MarksRange) {
  const Case test =
      CaseText()
          .input("x", kF16, {2}, literal({300, 2}))
          .node("y", "aten.mul.Tensor", {{"self", ref("x")}, {"other", ref("x")}})
          .node("z", "aten.mul.Tensor", {{"self", ref("y")}, {"other", number(0.0009765625)}})
          .output("z")
          .get();
  const Exact exact = Oracle(op_table()).exact(test);
  EXPECT_EQ(exact.tensors[0].values[0], 300.0 * 300 / 1024);
  EXPECT_TRUE(std::isinf(exact.tensors[0].bound[0]));
  EXPECT_EQ(exact.tensors[0].marks[0], kRange);
  EXPECT_EQ(exact.tensors[0].bound[1], 0);  // 4 / 1024, without any rounding
}

// Proves: float64 programs are evaluated beyond double, and say what is left.
TEST(Exact, Float64HasLowParts) {
  const Case test = CaseText()
                        .input("x", kF64, {1}, literal({1}))
                        .node("y", "aten.exp.default", {{"self", ref("x")}})
                        .output("y")
                        .get();
  const ExactTensor y = Oracle(op_table()).exact(test).tensors[0];
  EXPECT_EQ(y.values[0], std::exp(1.0));
  EXPECT_NEAR(y.low[0] / 1.4456468917292502e-16, 1, 1e-10);  // e - (double) e
}

}  // namespace
}  // namespace ulpfuzz
