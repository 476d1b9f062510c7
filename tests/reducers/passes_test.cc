// One planted fault a pass, with the exact minimum; properties of whole reductions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "generators/generate.h"
#include "ir/verify.h"
#include "reducers/plain.h"
#include "tests/reducers/planted.h"

namespace ulpfuzz {
namespace {

Fill literals(std::vector<double> values) {
  Fill fill;
  fill.kind = Fill::Kind::kLiteral;
  fill.values = std::move(values);
  return fill;
}

Case unary(const std::string& op, DType dtype, std::vector<Dim> shape, Fill fill) {
  ProgramBuilder b;
  b.output(b.call("y", op, {{"self", b.input("x", dtype, std::move(shape), std::move(fill))}}));
  return std::move(b).take();
}

double only_number(const Case& c) {
  return generate(c.inputs.at(0).fill, c.program.inputs.at(0).dtype, {}).reals.at(0);
}

TEST(Dtypes, GoToFloat32UnlessTheyMatter) {
  const Case c = unary("sin.default", DType::kBFloat16, {3}, Fill{});
  const ReducedCase free =
      reduce_with(c, [](const Case& x) { return contains(x, "aten.sin.default"); });
  EXPECT_EQ(free.smallest.program.inputs[0].dtype, DType::kFloat32);
  const ReducedCase bound =
      reduce_with(c, [](const Case& x) { return x.program.inputs[0].dtype == DType::kBFloat16; });
  EXPECT_EQ(bound.smallest.program.inputs[0].dtype, DType::kBFloat16);
}

TEST(Dtypes, IntegersGoToInt64) {
  Fill fill;
  fill.kind = Fill::Kind::kInteger;
  fill.high = 3;
  const ReducedCase r =
      reduce_with(unary("neg.default", DType::kInt16, {4}, fill), [](const Case& x) {
        return contains(x, "aten.neg.default") && is_integral(x.program.inputs[0].dtype);
      });
  EXPECT_EQ(r.smallest.program.inputs[0].dtype, DType::kInt64);
}

TEST(Constants, AnOperandBecomesANumber) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4}, Fill{});
  const Ref y = b.input("y", DType::kFloat32, {4}, literals({2.5}));
  b.output(b.call("product", "mul.Tensor", {{"self", x}, {"other", y}}));
  const ReducedCase r = reduce_with(std::move(b).take(),
                                    [](const Case& c) { return contains(c, "aten.mul.Tensor"); });
  EXPECT_EQ(r.smallest.program.inputs.size(), 1u) << to_json(r.smallest);
  const Argument* other = r.smallest.program.nodes.at(0).find("other");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(*other, Argument(Scalar{1.0}));
}

TEST(Operators, WhatOnlyNeedsAReductionIsASum) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4, 3}, Fill{});
  const Ref e = b.call("e", "tanh.default", {{"self", x}});
  b.output(b.call("m", "amax.default", {{"self", e}, {"dim", std::vector<Dim>{1}}}));
  const ReducedCase r = reduce_with(std::move(b).take(), [](const Case& c) {
    return c.program.nodes.size() == 2 && !c.program.nodes[1].args.empty() &&
           c.program.nodes[1].find("dim") != nullptr;
  });
  EXPECT_EQ(r.smallest.program.nodes[0].op, "aten.neg.default");
  EXPECT_EQ(r.smallest.program.nodes[1].op, "aten.sum.dim_IntList");
}

TEST(Numbers, AThresholdEndsAtThePlainestNumberBeyondIt) {
  const ReducedCase r =
      reduce_with(unary("sin.default", DType::kFloat32, {}, literals({2.4112e20})),
                  [](const Case& c) { return only_number(c) > 1e9; });
  const double value = only_number(r.smallest);
  EXPECT_GT(value, 1e9);
  EXPECT_EQ(significant_bits(value), 1) << value;
}

TEST(Numbers, NegativeOnesLoseTheirSignUnlessItMatters) {
  const auto with = [](auto fails) {
    return only_number(
        reduce_with(unary("sin.default", DType::kFloat32, {}, literals({-3.7})), fails).smallest);
  };
  EXPECT_EQ(with([](const Case& c) { return std::abs(only_number(c)) >= 2; }), 2.0);
  EXPECT_EQ(with([](const Case& c) { return only_number(c) < -1; }), -2.0);
}

TEST(Layouts, AStrideOfADimensionOfSizeOneIsMadeSmallest) {
  Case c = unary("sin.default", DType::kFloat32, {1, 5}, Fill{});
  c.inputs[0].strides = {977, 3};
  c.inputs[0].offset = 40;
  const ReducedCase r = reduce_with(c, [](const Case& x) {
    return x.inputs[0].strides.size() == 2 && x.inputs[0].strides[0] > 1 &&
           x.program.inputs[0].shape.size() == 2 &&
           x.inputs[0].strides[0] != x.program.inputs[0].shape[1].constant;
  });
  EXPECT_EQ(r.smallest.inputs[0].strides[0], 2);
  EXPECT_EQ(r.smallest.inputs[0].offset, 0);
}

TEST(Shapes, AResidueIsKeptInFewSteps) {
  const Case c = unary("sin.default", DType::kFloat32, {1216}, Fill{});
  const ReducedCase r = reduce_with(c, [](const Case& x) {
    return !x.program.inputs[0].shape.empty() &&
           x.program.inputs[0].shape[0].value(x.program.symbols) % 128 == 64;
  });
  EXPECT_EQ(elements_of(r.smallest, 0), 64);
  EXPECT_LT(r.tried, 120);
}

// Of attention the batch, the heads and the lengths shrink together in query, key and value, also
// where several of them are as large as another.
TEST(Shapes, AttentionShrinksInFewSteps) {
  ProgramBuilder b;
  std::vector<Ref> refs;
  for (const char* name : {"q", "k", "v"}) {
    Fill fill;
    fill.seed = refs.size();
    refs.push_back(b.input(name, DType::kFloat32, {2, 4, 7, 4}, fill));
  }
  b.output(b.call("y", "scaled_dot_product_attention.default",
                  {{"query", refs[0]}, {"key", refs[1]}, {"value", refs[2]}}));
  // The scale shows with two keys only.
  const ReducedCase r = reduce_with(std::move(b).take(), [](const Case& c) {
    return contains(c, "aten.scaled_dot_product_attention.default") &&
           c.program.inputs.size() == 3 &&
           c.program.inputs[1].shape.at(c.program.inputs[1].shape.size() - 2).constant >= 2;
  });
  EXPECT_EQ(elements_of(r.smallest, 0), 1);
  EXPECT_EQ(elements_of(r.smallest, 1), 2);
  EXPECT_EQ(elements_of(r.smallest, 2), 2);
  EXPECT_LT(r.tried, 90);
}

TEST(Kinds, AGuiltyNodeOfALongProgramIsFoundAtOnce) {
  const ReducedCase r =
      reduce_with(chain(250, 201), [](const Case& c) { return contains(c, "aten.sin.default"); });
  EXPECT_EQ(r.smallest.program.nodes.size(), 1u);
  EXPECT_LT(r.tried, 60);
}

// A fault that shows only behind another: halves before single nodes.
TEST(Ranges, ALongProgramIsHalvedWhereNoSingleNodeFails) {
  const ReducedCase r = reduce_with(two_branches(100), [](const Case& c) {
    return contains(c, "aten.sin.default") && contains(c, "aten.tanh.default");
  });
  EXPECT_EQ(r.smallest.program.nodes.size(), 2u);
  EXPECT_LT(r.tried, 900);
}

TEST(Reduce, GoesOnFromAStateAsIfItHadNotBeenCut) {
  const Fails fails = [](const Case& c) { return contains(c, "aten.sin.default"); };
  const ReducedCase whole = reduce_with(chain(30, 15), fails);
  std::optional<ReductionState> state;
  ReductionOptions options;
  int batches = 0;
  options.go_on = [&](const ReductionProgress&) { return batches < 3; };
  options.save = [&](const ReductionState& now) {
    state = now;
    ++batches;
  };
  const ReducedCase cut = reduce(chain(30, 15), op_table(), each(fails), options);
  ASSERT_FALSE(cut.complete);
  ASSERT_TRUE(state);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("ulpfuzz-state-" + std::to_string(getpid()));
  write_state(file, *state, "key");
  EXPECT_FALSE(read_state(file, "another key"));
  ReductionOptions again;
  again.from = read_state(file, "key");
  std::filesystem::remove(file);
  ASSERT_TRUE(again.from);
  int asked = 0;
  const ReducedCase rest = reduce(chain(30, 15), op_table(), each([&](const Case& c) {
                                    ++asked;
                                    return fails(c);
                                  }),
                                  again);
  EXPECT_TRUE(rest.complete);
  EXPECT_EQ(to_json(rest.smallest), to_json(whole.smallest));
  EXPECT_LT(asked, rest.tried);  // what was refused is not run again
}

TEST(Certificate, CountsTheSmallerCasesAndThoseThatStillFail) {
  const StillFails sin = each([](const Case& c) { return contains(c, "aten.sin.default"); });
  const ReducedCase r = reduce(chain(9, 4), op_table(), sin);
  int all = 0, still = 0;
  for (const PassCount& count : count_steps(r.smallest, op_table(), sin)) {
    all += count.candidates;
    still += count.still_fail;
  }
  EXPECT_GT(all, 0);
  EXPECT_EQ(still, 0);
  int of_the_first = 0;  // the case as it came has smaller ones
  for (const PassCount& count : count_steps(chain(9, 4), op_table(), sin)) {
    of_the_first += count.still_fail;
  }
  EXPECT_GT(of_the_first, 0);
}

// Whatever the fault: the smallest case verifies, fails, is never larger, and is the same again.
TEST(Reduce, PropertiesOfWhateverIsReduced) {
  int reduced = 0;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const Case c = generate_case(811, i, op_table());
    if (c.model || c.program.nodes.empty()) continue;
    // A fault of some dtype or parity, from the case's own hash, that the case itself has.
    const std::string op = c.program.nodes[i % c.program.nodes.size()].op;
    const Fails fails = [&](const Case& x) {
      return contains(x, op) &&
             (i % 3 != 0 ||
              x.program.nodes.size() >= std::min<std::size_t>(2, c.program.nodes.size()));
    };
    const ReducedCase r = reduce_with(c, fails);
    EXPECT_TRUE(fails(r.smallest));
    EXPECT_NO_THROW(verify(r.smallest, op_table()));
    EXPECT_LE(size_of(r.smallest), size_of(c));
    EXPECT_EQ(to_json(r.smallest), to_json(reduce_with(c, fails).smallest));
    for (const PassCount& count : count_steps(r.smallest, op_table(), each(fails))) {
      EXPECT_EQ(count.still_fail, 0) << count.pass << to_json(r.smallest);
    }
    ++reduced;
  }
  EXPECT_GT(reduced, 10);
}

}  // namespace
}  // namespace ulpfuzz
