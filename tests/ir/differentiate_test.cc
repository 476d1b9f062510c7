#include "ir/differentiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/verify.h"
#include "tests/ir/small_table.h"

namespace ulpfuzz {
namespace {

using testing::ElementsAre;

Program program(std::vector<ProgramInput> inputs, std::vector<Node> nodes,
                std::vector<Ref> outputs) {
  Program p;
  p.inputs = std::move(inputs);
  p.nodes = std::move(nodes);
  p.outputs = std::move(outputs);
  return p;
}

const ProgramInput kX{"x", DType::kFloat32, {3, 4}};
const ProgramInput kY{"y", DType::kFloat32, {4}};

TEST(DifferentiateTest, AppliesRulesFromTheEndAndAccumulates) {
  // z = sin(x) * sin(x): both factors contribute.
  const Program p =
      program({kX},
              {node("s", "aten.sin.default", {{"self", Ref{"x"}}}),
               node("z", "aten.mul.Tensor", {{"self", Ref{"s"}}, {"other", Ref{"s"}}})},
              {{"z"}});
  const Differentiated d = differentiate(p, {"x"}, {true}, small_table());
  EXPECT_EQ(text(d.program),
            "s = aten.sin.default(self=x)\n"
            "z = aten.mul.Tensor(self=s, other=s)\n"
            "g_z = aten.mul.Tensor(self=cotangent_0, other=s)\n"
            "g_z_2 = aten.mul.Tensor(self=cotangent_0, other=s)\n"
            "g_z_3 = aten.add.Tensor(self=g_z, other=g_z_2)\n"
            "g_s = aten.cos.default(self=x)\n"
            "g_s_2 = aten.mul.Tensor(self=g_z_3, other=g_s)\n"
            "-> z g_s_2");
  EXPECT_THAT(d.outputs, ElementsAre(Ref{"z"}));
  EXPECT_THAT(d.gradients, ElementsAre(Ref{"g_s_2"}));
  ASSERT_EQ(d.program.inputs.size(), 2u);
  EXPECT_EQ(d.program.inputs[1], (ProgramInput{"cotangent_0", DType::kFloat32, {3, 4}}));
  verify(d.program, small_table());
}

TEST(DifferentiateTest, BroadcastsAreSummedDownAndDtypesConverted) {
  const Program p =
      program({kX, {"h", DType::kBFloat16, {4}}},
              {node("z", "aten.add.Tensor", {{"self", Ref{"x"}}, {"other", Ref{"h"}}})}, {{"z"}});
  const Differentiated d = differentiate(p, {"x", "h"}, {true}, small_table());
  EXPECT_EQ(text(d.program),
            "z = aten.add.Tensor(self=x, other=h)\n"
            "g_z = aten.sum.dim_IntList(self=cotangent_0, dim=[0], keepdim=True)\n"
            "g_z_2 = aten.reshape.default(self=g_z, shape=[4])\n"
            "g_z_3 = aten._to_copy.default(self=g_z_2, dtype=bfloat16)\n"
            "-> z cotangent_0 g_z_3");
  const Types types = verify(d.program, small_table());
  EXPECT_EQ(types.of(d.gradients[1]), (TensorType{DType::kBFloat16, {4}}));
}

TEST(DifferentiateTest, SizeOneDimensionsAreKeptWhenSummed) {
  const Program p =
      program({kX, {"c", DType::kFloat32, {3, 1}}},
              {node("z", "aten.mul.Tensor", {{"self", Ref{"x"}}, {"other", Ref{"c"}}})}, {{"z"}});
  const Differentiated d = differentiate(p, {"c"}, {true}, small_table());
  EXPECT_EQ(text(d.program),
            "z = aten.mul.Tensor(self=x, other=c)\n"
            "g_z = aten.mul.Tensor(self=cotangent_0, other=x)\n"
            "g_z_2 = aten.sum.dim_IntList(self=g_z, dim=[1], keepdim=True)\n"
            "-> z g_z_2");
}

TEST(DifferentiateTest, GradientsStopWhereNoRuleIs) {
  // cos has no derivative here; y is not on the way to z.
  const Program p = program({kX, kY},
                            {node("c", "aten.cos.default", {{"self", Ref{"x"}}}),
                             node("z", "aten.sin.default", {{"self", Ref{"c"}}})},
                            {{"z"}});
  const Differentiated d = differentiate(p, {"x", "y"}, {true}, small_table());
  EXPECT_THAT(d.gradients, ElementsAre(Ref{}, Ref{}));
  EXPECT_EQ(d.program.outputs, (std::vector<Ref>{{"z"}}));
}

TEST(DifferentiateTest, IndicesHaveNoGradientAndMissingOnesAreZeros) {
  const Program p = program({kX},
                            {node("m", "aten.max.dim", {{"self", Ref{"x"}}, {"dim", Dim(0)}}),
                             node("h", "aten.halves.default", {{"self", Ref{"x"}}})},
                            {{"m", 1}, {"h", 1}});
  const Differentiated d = differentiate(p, {"x"}, {false, true}, small_table());
  EXPECT_EQ(text(d.program),
            "m = aten.max.dim(self=x, dim=0)\n"
            "h = aten.halves.default(self=x)\n"
            "g_h = aten.zeros_like.default(self=h)\n"
            "g_h_2 = aten.add.Tensor(self=g_h, other=cotangent_1)\n"
            "-> m:1 h:1 g_h_2");
}

TEST(DifferentiateTest, AnInputThatIsAnOutputTwice) {
  const Differentiated d =
      differentiate(program({kX}, {}, {{"x"}, {"x"}}), {"x"}, {true, true}, small_table());
  EXPECT_EQ(text(d.program),
            "g_outputs = aten.add.Tensor(self=cotangent_0, other=cotangent_1)\n-> x x g_outputs");
}

TEST(DifferentiateTest, MutationIsGoneBefore) {
  const Program p = program({kX, kY},
                            {node("s", "aten.sin.default", {{"self", Ref{"x"}}}),
                             node("w", "aten.sin_.default", {{"self", Ref{"s"}}}),
                             node("v", "aten.sin_.default", {{"self", Ref{"y"}}})},
                            {{"s"}});
  const Differentiated d = differentiate(p, {"x"}, {true}, small_table());
  EXPECT_EQ(text(d.program),
            "s = aten.sin.default(self=x)\n"
            "w = aten.sin.default(self=s)\n"
            "v = aten.sin.default(self=y)\n"
            "g_w = aten.cos.default(self=s)\n"
            "g_w_2 = aten.mul.Tensor(self=cotangent_0, other=g_w)\n"
            "g_s = aten.cos.default(self=x)\n"
            "g_s_2 = aten.mul.Tensor(self=g_w_2, other=g_s)\n"
            "-> w v g_s_2");
  EXPECT_THAT(d.outputs, ElementsAre(Ref{"w"}));
  EXPECT_THAT(d.written_inputs, ElementsAre("y"));
}

}  // namespace
}  // namespace ulpfuzz
