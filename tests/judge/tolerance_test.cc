// Tolerances from legal executions, and checks with them.
#include "judge/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "generators/build.h"
#include "ops/table.h"
#include "oracle/oracle.h"
#include "tests/judge/runs.h"

namespace ulpfuzz {
namespace {

// A product of matrices and a softmax, in bfloat16, with a float32 sum of it.
Case program() {
  ProgramBuilder b;
  Fill fill;
  fill.grid = DType::kBFloat16;
  fill.seed = 3;
  const Ref x = b.input("x", DType::kBFloat16, {8, 24}, fill);
  fill.seed = 4;
  const Ref w = b.input("w", DType::kBFloat16, {24, 12}, fill);
  const Ref y = b.call("y", "matmul.default", {{"self", x}, {"other", w}});
  const Ref z = b.call("z", "softmax.int", {{"self", y}, {"dim", Dim(-1)}});
  const Ref wide = b.call("wide", "to.dtype", {{"self", z}, {"dtype", DType::kFloat32}});
  b.output(z);
  b.output(b.call("loss", "logsumexp.default", {{"self", wide}, {"dim", std::vector<Dim>{0, 1}}}));
  return std::move(b).take();
}

bool pair_passes(const std::vector<double>& a, const std::vector<double>& e, const Allowance& x) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - e[i]) > x.atol + x.rtol * std::abs(e[i])) return false;
  }
  return true;
}

// Proves: on input sets of their own, legal pairs fail the suggested tolerance no more often than
// asked (1 %, with room for 400 draws), while torch's choice by the float32 loss fails most.
TEST(Tolerance, HoldsItsRate) {
  const Case c = program();
  const std::vector<Tolerance> found = tolerances(c, op_table(), {16, 0.01});
  ASSERT_EQ(found.size(), 2u);
  const Oracle oracle(op_table());
  std::vector<int> failures(found.size());
  int pairs = 0;
  for (std::uint64_t salt = 100; salt < 125; ++salt) {
    const LegalRuns eager = oracle.legal(c, salt, eager_freedom(), 16, 2 * salt);
    const LegalRuns fusing = oracle.legal(c, salt, fusing_freedom(), 16, 2 * salt + 1);
    for (std::size_t run = 0; run < 16; ++run, ++pairs) {
      for (std::size_t t = 0; t < found.size(); ++t) {
        failures[t] +=
            !pair_passes(fusing.values[t][run], eager.values[t][run], found[t].suggested);
      }
    }
  }
  EXPECT_EQ(pairs, 400);
  for (const int count : failures) EXPECT_LE(count, 12);
  EXPECT_EQ(found[1].dtype, DType::kFloat32);
  EXPECT_GT(found[1].usual_rate, 0.5);
}

// Proves: a tolerance that is wide enough for the noise still sees a result 3 % off.
TEST(Tolerance, SeesAFault) {
  const Case c = program();
  const std::vector<Tolerance> found = tolerances(c, op_table(), {16, 0.01});
  const Oracle oracle(op_table());
  const LegalRuns eager = oracle.legal(c, 7, eager_freedom(), 2, 1);
  std::vector<double> off = eager.values[1][0];
  for (double& x : off) x *= 1.03;
  EXPECT_FALSE(pair_passes(off, eager.values[1][1], found[1].suggested));
}

TEST(Tolerance, ChecksAsAssertCloseDoes) {
  const auto result = [](const std::vector<float>& values) {
    return tensor_of("output 0", DType::kFloat32, {static_cast<std::int64_t>(values.size())},
                     values);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Allowance allowance{0.1, 0.5};
  EXPECT_TRUE(passes(result({10.0F}), result({11.5F}), allowance));    // 1.5 <= 0.5 + 1.15
  EXPECT_FALSE(passes(result({10.0F}), result({11.75F}), allowance));  // 1.75 > 0.5 + 1.175
  EXPECT_TRUE(passes(result({kNan}), result({kNan}), allowance));
  EXPECT_FALSE(passes(result({kNan}), result({1.0F}), allowance));
  EXPECT_TRUE(passes(result({kInfinity}), result({kInfinity}), allowance));
  EXPECT_FALSE(passes(result({kInfinity}), result({1.0F}), allowance));
  EXPECT_FALSE(passes(result({1.0F, 1.0F}), result({1.0F}), allowance));
}

}  // namespace
}  // namespace ulpfuzz
