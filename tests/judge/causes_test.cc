// Why a system differs, where the right answer is known: systems are simulated in float32 loops.
#include "judge/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/diverging.h"
#include "ops/table.h"
#include "tests/judge/simulated.h"
#include "tests/oracle/programs.h"

namespace ulpfuzz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr DType kBF16 = DType::kBFloat16, kF32 = DType::kFloat32;
constexpr int kRows = 48, kColumns = 24;

Fill around(std::uint64_t seed, double shift) {
  Fill fill = normal(seed);
  fill.shift = shift;
  return fill;
}

// relu(x * rsqrt(mean(x * x) + 0.297) * w + b) * w, a row at a time.
Case norm(DType dtype) {
  return CaseText()
      .input("x", dtype, {kRows, kColumns}, around(1, 0))
      .input("w", dtype, {kColumns}, around(2, 1))
      .input("b", dtype, {kColumns}, around(3, 0))
      .node("square", "aten.mul.Tensor", {{"self", ref("x")}, {"other", ref("x")}})
      .node("mean", "aten.mean.dim",
            {{"self", ref("square")}, {"dim", std::vector<Dim>{1}}, {"keepdim", true}})
      .node("shifted", "aten.add.Tensor", {{"self", ref("mean")}, {"other", number(0x1.3p-2)}})
      .node("scale", "aten.rsqrt.default", {{"self", ref("shifted")}})
      .node("normal", "aten.mul.Tensor", {{"self", ref("x")}, {"other", ref("scale")}})
      .node("weighted", "aten.mul.Tensor", {{"self", ref("normal")}, {"other", ref("w")}})
      .node("sum", "aten.add.Tensor", {{"self", ref("weighted")}, {"other", ref("b")}})
      .node("r", "aten.relu.default", {{"self", ref("sum")}})
      .node("y", "aten.mul.Tensor", {{"self", ref("r")}, {"other", ref("w")}})
      .output("y")
      .get();
}

// What a system does with norm().
struct Habits {
  bool half = true;                    // intermediates are rounded to bfloat16
  std::vector<std::string> wide = {};  // but for these
  double relu_adds = 0;
};

System norm_by(const Habits& habits) {
  return [habits](const Named& in, const Program&) {
    Named all = in;
    for (const char* name :
         {"square", "mean", "shifted", "scale", "normal", "weighted", "sum", "r", "y"}) {
      all[name] = Values();
    }
    const auto keep = [&](const std::string& name, float value) {
      const bool rounds = habits.half && std::ranges::find(habits.wide, name) == habits.wide.end();
      all[name].push_back(value);
      return rounds ? static_cast<float>(round_to(kBF16, value)) : value;
    };
    for (int row = 0; row < kRows; ++row) {
      const auto at = [&](const char* name, int column) {
        const auto found = in.find(name);  // an unused input is not there
        return found == in.end()
                   ? 0.0F
                   : static_cast<float>(found->second[static_cast<std::size_t>(column)]);
      };
      std::vector<float> squares;
      for (int c = 0; c < kColumns; ++c) {
        const float x = at("x", row * kColumns + c);
        squares.push_back(keep("square", x * x));
      }
      float total = 0;
      for (const float square : squares) total += square;
      const float mean = keep("mean", total / kColumns);
      const float shifted = keep("shifted", mean + 0x1.3p-2F);
      const float scale = keep("scale", 1 / std::sqrt(shifted));
      for (int c = 0; c < kColumns; ++c) {
        const float y = keep("normal", at("x", row * kColumns + c) * scale);
        const float weighted = keep("weighted", y * at("w", c));
        const float sum = keep("sum", weighted + at("b", c));
        const float r = keep("r", std::fmax(sum, 0.0F) + static_cast<float>(habits.relu_adds));
        keep("y", r * at("w", c));
      }
    }
    return all;
  };
}

const System kEager = norm_by({});

std::vector<std::string> uses(const Causes& causes) {
  std::vector<std::string> all;
  for (const KeptWide& w : causes.wide) all.push_back(w.value + " into " + w.into);
  std::ranges::sort(all);
  return all;
}

// Proves: the one use that a system keeps wide is named, whichever it is, and holds on inputs that
// the search did not see.
TEST(ExcessPrecision, TheVeryUseIsNamed) {
  const std::vector<std::pair<std::string, std::string>> each{
      {"square", "mean"},  {"mean", "shifted"},    {"shifted", "scale"},
      {"scale", "normal"}, {"normal", "weighted"}, {"weighted", "sum"}};
  for (const auto& [value, into] : each) {
    const Causes causes = find(norm(kBF16), norm_by({.wide = {value}}), kEager, op_table()).causes;
    EXPECT_EQ(causes.kind, CauseKind::kExcessPrecision) << value;
    EXPECT_THAT(uses(causes), ElementsAre(value + " into " + into));
    EXPECT_EQ(causes.held_out, std::optional(true));
    ASSERT_EQ(causes.wide.size(), 1U);
    EXPECT_GT(causes.wide[0].share, 0.99);
    EXPECT_GT(causes.wide[0].without, 10);
    ASSERT_EQ(causes.tensors.size(), 1U);
    EXPECT_GT(causes.tensors[0].nominal, 10 * causes.tensors[0].noise);
  }
}

TEST(ExcessPrecision, SeveralUsesAreNamedTogether) {
  const System system = norm_by({.wide = {"square", "scale", "weighted"}});
  const Causes causes = find(norm(kBF16), system, kEager, op_table()).causes;
  EXPECT_EQ(causes.kind, CauseKind::kExcessPrecision);
  EXPECT_THAT(uses(causes),
              ElementsAre("scale into normal", "square into mean", "weighted into sum"));
  EXPECT_EQ(causes.held_out, std::optional(true));
}

// Negative controls: what no rounding assignment can do is not explained by one.
TEST(ExcessPrecision, IsNotClaimedForAFault) {
  const Causes same = find(norm(kBF16), kEager, kEager, op_table()).causes;
  EXPECT_EQ(same.kind, CauseKind::kSame);
  EXPECT_THAT(same.wide, IsEmpty());

  // A result that is a quarter of an ulp too large before it is stored.
  const System too_large = [](const Named& in, const Program& program) {
    Named all = norm_by({})(in, program);
    for (double& y : all["y"]) y *= 1 + 0x1p-9;
    return all;
  };
  const Causes causes = find(norm(kBF16), too_large, kEager, op_table()).causes;
  EXPECT_EQ(causes.kind, CauseKind::kUnexplained);
  EXPECT_THAT(causes.wide, IsEmpty());
}

// exp(sum(x)) * w, the sum from either end.
System exponential(bool backwards) {
  return [backwards](const Named& in, const Program&) {
    Named all = in;
    Values x = in.at("x");
    if (backwards) std::ranges::reverse(x);
    float s = 0;
    for (const double v : x) s += static_cast<float>(v);
    const float e = std::exp(s);
    all["s"] = {s}, all["e"] = {e};
    for (const double w : in.at("w")) all["y"].push_back(e * static_cast<float>(w));
    return all;
  };
}

// Proves: another order of summation is named as that, with the step whose error it is.
TEST(Reordered, TheStepThatDominatesTheErrorIsNamed) {
  const Case c = CaseText()
                     .input("x", kF32, {1000}, around(1, 0))
                     .input("w", kF32, {32}, around(2, 0))
                     .node("s", "aten.sum.default", {{"self", ref("x")}})
                     .node("e", "aten.exp.default", {{"self", ref("s")}})
                     .node("y", "aten.mul.Tensor", {{"self", ref("e")}, {"other", ref("w")}})
                     .output("y")
                     .get();
  const Causes causes = find(c, exponential(true), exponential(false), op_table()).causes;
  EXPECT_EQ(causes.kind, CauseKind::kReordered);
  ASSERT_EQ(causes.tensors.size(), 1U);
  EXPECT_EQ(causes.tensors[0].dominant, "s");
  EXPECT_GT(causes.tensors[0].share, 0.9);
}

// round(sum(x)) * w: the sum is 2.5 but for the order of its terms.
Case near_tie(double last) {
  Fill x = literal({1, 0x1.8p-24, 0x1.8p-24, 0.5, 1, last});
  return CaseText()
      .input("x", kF32, {6}, x)
      .input("w", kF32, {32}, around(4, 0))
      .node("s", "aten.sum.default", {{"self", ref("x")}})
      .node("n", "aten.round.default", {{"self", ref("s")}})
      .node("y", "aten.mul.Tensor", {{"self", ref("n")}, {"other", ref("w")}})
      .output("y")
      .get();
}

System rounds_to(double n) {
  return [n](const Named& in, const Program&) {
    Named all = in;
    all["s"] = {2.5}, all["n"] = {n};
    for (const double w : all["w"]) all["y"].push_back(n * w);
    return all;
  };
}

// Proves: a round() that fell the other way is named, and what follows is judged on that branch.
TEST(Discontinuity, AFlippedRoundIsNamed) {
  const Causes causes = find(near_tie(0), rounds_to(2), rounds_to(3), op_table()).causes;
  EXPECT_EQ(causes.kind, CauseKind::kDiscontinuity);
  ASSERT_EQ(causes.branches.size(), 1U);
  EXPECT_EQ(causes.branches[0].node, "n");
  EXPECT_EQ(causes.branches[0].exact, 3);
  EXPECT_EQ(causes.branches[0].taken, 2);
  EXPECT_TRUE(causes.branches[0].forced);
}

// Negative controls: a branch that no legal execution takes, and a tie that is none.
TEST(Discontinuity, IsNotClaimedForAWrongBranch) {
  for (const auto& [last, taken] : {std::pair(0.0, 5.0), {0.25, 2.0}}) {
    const Causes causes = find(near_tie(last), rounds_to(taken), rounds_to(3), op_table()).causes;
    EXPECT_EQ(causes.kind, CauseKind::kUnexplained) << last;
    EXPECT_THAT(causes.branches, IsEmpty());
    // Nothing is said of the node where exact arithmetic may be wrong by one or the other.
    EXPECT_EQ(causes.first.has_value(), last != 0);
    if (causes.first) {
      EXPECT_EQ(causes.first->node, "n");
    }
  }
}

// Proves: a planted fault is not reproduced, its node is the first that diverges, and that node's
// value alone explains the rest; in both dtypes.
TEST(Diverging, ThePlantedNodeIsTheFirst) {
  for (const DType dtype : {kBF16, kF32}) {
    const bool half = dtype == kBF16;
    const System faulty = norm_by({.half = half, .relu_adds = 1});
    const Found found = find(norm(dtype), faulty, norm_by({.half = half}), op_table());
    EXPECT_EQ(found.causes.kind, CauseKind::kUnexplained);
    ASSERT_TRUE(found.causes.first.has_value());
    EXPECT_EQ(found.causes.first->node, "r");
    EXPECT_EQ(found.causes.first->strength, "bound");
    EXPECT_TRUE(found.causes.first->outputs_added);
    EXPECT_TRUE(found.causes.first->same_bits);
    EXPECT_EQ(found.causes.first->alone, std::optional(true));
  }
}

// A system that multiplies by w + 1 in place of w, and only in a program of one output.
Named only_alone(const Named& in, const Program& program) {
  Named changed = in;
  if (program.outputs.size() == 1 && changed.contains("w")) {
    for (double& w : changed["w"]) w += 1;
  }
  return norm_by({.half = false})(changed, program);
}

// Proves: a fault that goes away with further outputs is found by cutting the program off.
TEST(Diverging, AFaultThatOutputsHideIsFoundByPrefixes) {
  const Found found = find(norm(kF32), only_alone, norm_by({.half = false}), op_table());
  ASSERT_TRUE(found.causes.first.has_value());
  EXPECT_EQ(found.causes.first->node, "weighted");
  EXPECT_FALSE(found.causes.first->outputs_added);
}

TEST(Diverging, CasesOfIntermediatesVerify) {
  std::vector<std::string> nodes;
  const Case shown = with_intermediates(norm(kBF16), op_table(), nodes);
  EXPECT_THAT(nodes, ElementsAre("y", "square", "mean", "shifted", "scale", "normal", "weighted",
                                 "sum", "r"));
  EXPECT_NO_THROW(verify(shown, op_table()));
  const Case prefix = up_to(norm(kBF16), "scale", op_table());
  EXPECT_EQ(prefix.program.inputs.size(), 1U);
  EXPECT_EQ(prefix.program.nodes.size(), 4U);
  EXPECT_NO_THROW(verify(prefix, op_table()));
}

TEST(Causes, AreJson) {
  const Found found = find(norm(kBF16), norm_by({.wide = {"square"}}), kEager, op_table());
  EXPECT_THAT(to_json(found.causes), HasSubstr(R"("cause":"excess-precision")"));
  // All runs that it needs are asked for at once: the system's and eager's.
  EXPECT_EQ(found.asked.size(), 2U);
}

}  // namespace
}  // namespace ulpfuzz
