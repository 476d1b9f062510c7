#include "ir/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/verify.h"
#include "tests/ir/small_table.h"

namespace ulpfuzz {
namespace {

using testing::ElementsAre;

Node sin(std::string name, Ref self) {
  return node(std::move(name), "aten.sin.default", {{"self", self}});
}
Node write(std::string name, Ref self) {
  return node(std::move(name), "aten.sin_.default", {{"self", self}});
}
Node row(std::string name, Ref self, std::int64_t index) {
  return node(std::move(name), "aten.select.int",
              {{"self", self}, {"dim", Dim(0)}, {"index", Dim(index)}});
}

Program program(std::vector<Node> nodes, std::vector<Ref> outputs) {
  Program p;
  p.inputs = {{"x", DType::kFloat32, {3, 4}}, {"y", DType::kFloat32, {4}}};
  p.nodes = std::move(nodes);
  p.outputs = std::move(outputs);
  return p;
}

std::vector<std::string> names(const Program& p) {
  std::vector<std::string> list;
  for (const Node& n : p.nodes) list.push_back(n.name);
  return list;
}

TEST(DeadCodeTest, KeepsWhatOutputsDependOn) {
  const Program p = program({sin("a", {"x"}), sin("b", {"a"}), sin("c", {"x"})}, {{"b"}});
  EXPECT_THAT(names(without_dead_code(p, small_table())), ElementsAre("a", "b"));
}

TEST(DeadCodeTest, KeepsWritesIntoWhatIsLookedAtLater) {
  // The write through row v changes a, which is returned.
  const Program seen = program({sin("a", {"x"}), row("v", {"a"}, 1), write("w", {"v"})}, {{"a"}});
  EXPECT_THAT(names(without_dead_code(seen, small_table())), ElementsAre("a", "v", "w"));
  // s was computed before the write, and nothing looks at a after it.
  const Program unseen = program({sin("a", {"x"}), sin("s", {"a"}), write("w", {"a"})}, {{"s"}});
  EXPECT_THAT(names(without_dead_code(unseen, small_table())), ElementsAre("a", "s"));
}

TEST(DeadCodeTest, WritesIntoInputsAreResults) {
  const Program p = program({write("w", {"x"}), sin("s", {"y"})}, {{"s"}});
  EXPECT_THAT(names(without_dead_code(p, small_table())), ElementsAre("w", "s"));
  EXPECT_THAT(names(without_dead_code(p, small_table(), false)), ElementsAre("s"));
}

TEST(UnusedInputsTest, TellsWhichWereKept) {
  std::vector<std::size_t> kept;
  const Program p = without_unused_inputs(program({sin("s", {"y"})}, {{"s"}}), kept);
  ASSERT_EQ(p.inputs.size(), 1u);
  EXPECT_EQ(p.inputs[0].name, "y");
  EXPECT_THAT(kept, ElementsAre(1u));
}

TEST(FreshNameTest, CountsUp) {
  Program p = program({sin("s", {"y"}), sin("s_2", {"y"})}, {});
  EXPECT_EQ(fresh_name(p, "s"), "s_3");
  EXPECT_EQ(fresh_name(p, "x"), "x_2");
  EXPECT_EQ(fresh_name(p, "t"), "t");
}

// What functionalise makes verifies, and has no writes left.
std::string functional(const Program& p, std::vector<std::string> written = {}) {
  const Functional f = functionalise(p, small_table());
  EXPECT_EQ(f.written_inputs, written);
  verify(f.program, small_table());
  for (const Node& n : f.program.nodes) EXPECT_FALSE(small_table().at(n.op).schema.mutates());
  return text(f.program);
}

TEST(FunctionaliseTest, LaterUsesSeeTheNewValue) {
  EXPECT_EQ(functional(program({sin("a", {"x"}), sin("before", {"a"}), write("w", {"a"}),
                                sin("after", {"a"}), write("w2", {"w"})},
                               {{"before"}, {"after"}, {"a"}, {"w"}, {"w2"}})),
            "a = aten.sin.default(self=x)\n"
            "before = aten.sin.default(self=a)\n"
            "w = aten.sin.default(self=a)\n"
            "after = aten.sin.default(self=w)\n"
            "w2 = aten.sin.default(self=w)\n"
            "-> before after w2 w2 w2");
}

TEST(FunctionaliseTest, AWriteThroughAViewReachesItsBaseAndOtherViews) {
  EXPECT_EQ(functional(program({sin("a", {"x"}), row("v", {"a"}, 0), row("u", {"a"}, 1),
                                write("w", {"v"}), sin("s", {"u"})},
                               {{"a"}, {"v"}, {"s"}})),
            "a = aten.sin.default(self=x)\n"
            "v = aten.select.int(self=a, dim=0, index=0)\n"
            "u = aten.select.int(self=a, dim=0, index=1)\n"
            "w = aten.sin.default(self=v)\n"
            "a_2 = aten.select_scatter.default(self=a, src=w, dim=0, index=0)\n"
            "u_2 = aten.select.int(self=a_2, dim=0, index=1)\n"
            "s = aten.sin.default(self=u_2)\n"
            "-> a_2 w s");
}

TEST(FunctionaliseTest, ChainsOfViewsUnwind) {
  EXPECT_EQ(functional(program({sin("a", {"x"}),
                                node("t", "aten.transpose.int",
                                     {{"self", Ref{"a"}}, {"dim0", Dim(0)}, {"dim1", Dim(-1)}}),
                                row("v", {"t"}, 2), write("w", {"v"})},
                               {{"a"}})),
            "a = aten.sin.default(self=x)\n"
            "t = aten.transpose.int(self=a, dim0=0, dim1=-1)\n"
            "v = aten.select.int(self=t, dim=0, index=2)\n"
            "w = aten.sin.default(self=v)\n"
            "t_2 = aten.select_scatter.default(self=t, src=w, dim=0, index=2)\n"
            "a_2 = aten.transpose.int(self=t_2, dim0=0, dim1=-1)\n"
            "-> a_2");
}

TEST(FunctionaliseTest, WritingABaseMakesViewsStale) {
  EXPECT_EQ(
      functional(program(
          {sin("a", {"x"}), row("v", {"a"}, 0), write("w", {"a"}), write("w2", {"v"})}, {{"a"}})),
      "a = aten.sin.default(self=x)\n"
      "v = aten.select.int(self=a, dim=0, index=0)\n"
      "w = aten.sin.default(self=a)\n"
      "v_2 = aten.select.int(self=w, dim=0, index=0)\n"
      "w2 = aten.sin.default(self=v_2)\n"
      "a_2 = aten.select_scatter.default(self=w, src=w2, dim=0, index=0)\n"
      "-> a_2");
}

TEST(FunctionaliseTest, WrittenInputsBecomeOutputs) {
  EXPECT_EQ(
      functional(program({row("v", {"x"}, 0), write("w", {"v"}), sin("s", {"y"})}, {{"s"}}), {"x"}),
      "v = aten.select.int(self=x, dim=0, index=0)\n"
      "w = aten.sin.default(self=v)\n"
      "x_2 = aten.select_scatter.default(self=x, src=w, dim=0, index=0)\n"
      "s = aten.sin.default(self=y)\n"
      "-> s x_2");
}

TEST(FunctionaliseTest, TheResultKeepsTheWrittenDtype) {
  Program p = program(
      {sin("a", {"h"}), node("w", "aten.add_.Tensor", {{"self", Ref{"a"}}, {"other", Ref{"y"}}})},
      {{"a"}});
  p.inputs.push_back({"h", DType::kBFloat16, {4}});
  EXPECT_EQ(functional(p),
            "a = aten.sin.default(self=h)\n"
            "w = aten.add.Tensor(self=a, other=y)\n"
            "w_2 = aten._to_copy.default(self=w, dtype=bfloat16)\n"
            "-> w_2");
}

}  // namespace
}  // namespace ulpfuzz
