#include "fuzz/fake_real.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generators/build.h"
#include "ir/verify.h"
#include "ops/table.h"

// Fake kernels against real ones, operator by operator, on real torch.
namespace ulpfuzz {
namespace {

using testing::HasSubstr;

FakeRealSummary compare(const std::string& only, const std::string& fault = "") {
  static Scheduler scheduler(op_table(), {.jobs = 1});
  FakeRealOptions options;
  options.only = only;
  options.cases = 12;
  options.seed = 3;
  if (!fault.empty()) options.fake.options["fault"] = fault;
  return compare_fakes(options, op_table(), scheduler);
}

// pytorch#106623: FFTs of a real tensor along another dimension than the last.
TEST(FakeReal, StridesOfARealFftDifferAndAreReducedToOneCall) {
  const FakeRealSummary summary = compare("aten.fft_rfft.default");
  EXPECT_EQ(summary.rows, 1);
  EXPECT_GT(summary.valid, 0);
  ASSERT_FALSE(summary.differences.empty());
  const FakeDifference& d = summary.differences.front();
  EXPECT_THAT(d.sort, HasSubstr("fake kernel's strides"));
  EXPECT_TRUE(d.reduced);
  EXPECT_LE(d.smallest.program.nodes.size(), 2u);
}

TEST(FakeReal, AnOrdinaryOperatorHasNoDifference) {
  const FakeRealSummary summary = compare("aten.sin.default");
  EXPECT_GT(summary.valid, 0);
  EXPECT_GT(summary.backward, 0);
  EXPECT_TRUE(summary.differences.empty());
}

// Negative control: the fake kernel's layout is turned around.
TEST(FakeReal, APlantedStrideIsSeen) {
  const FakeRealSummary summary = compare("aten.sin.default", "wrong-out-stride");
  ASSERT_FALSE(summary.differences.empty());
  EXPECT_THAT(summary.differences.front().detail, HasSubstr("output 0: fake kernel's strides"));
}

// Generated code reads every result and makes every operand.
TEST(FakeReal, NeighboursStandOnBothSides) {
  ProgramBuilder b;
  const Ref x = b.parameter("x", DType::kFloat32, {2, 3}, Fill{});
  b.output(b.call("y", "sin.default", {{"self", x}}), Cotangent{});
  const Case c = with_neighbours(std::move(b).take(), op_table());
  ASSERT_EQ(c.program.nodes.size(), 3u);
  EXPECT_EQ(c.program.nodes[0].op, "aten.mul.Tensor");
  EXPECT_EQ(std::get<Ref>(*c.program.nodes[1].find("self")).name, c.program.nodes[0].name);
  EXPECT_EQ(c.program.nodes[2].op, "aten.add.Tensor");
  EXPECT_EQ(c.program.outputs[0].name, c.program.nodes[2].name);
  verify(c, op_table());
}

}  // namespace
}  // namespace ulpfuzz
