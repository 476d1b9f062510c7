#include "ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ir/error.h"
#include "tests/ir/small_table.h"

namespace ulpfuzz {
namespace {

using testing::StartsWith;

const Ref kX{"x"};

// x: float32[3, 4]; a = sin(x), b = a + x.
Program simple() {
  Program p;
  p.inputs = {{"x", DType::kFloat32, {3, 4}}};
  p.nodes = {node("a", "aten.sin.default", {{"self", kX}}),
             node("b", "aten.add.Tensor", {{"self", Ref{"a"}}, {"other", kX}})};
  p.outputs = {{"b"}};
  return p;
}

Case simple_case() {
  Case c;
  c.program = simple();
  c.inputs.resize(1);
  c.wrt = {"x"};
  c.cotangents = {Cotangent()};
  return c;
}

void refuses(const std::string& message, const std::function<void(Program&)>& change) {
  Program p = simple();
  change(p);
  try {
    verify(p, small_table());
    ADD_FAILURE() << "accepted, where wanted: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith(message));
  }
}

void refuses_case(const std::string& message, const std::function<void(Case&)>& change) {
  Case c = simple_case();
  change(c);
  try {
    verify(c, small_table(), "c.json");
    ADD_FAILURE() << "accepted, where wanted: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("c.json#" + message));
  }
}

TEST(VerifyTest, GivesTheTypeOfEveryValue) {
  const Types types = verify(simple(), small_table());
  EXPECT_EQ(types.of({"b"}), (TensorType{DType::kFloat32, {3, 4}}));
  EXPECT_EQ(types.of({"x"}), (TensorType{DType::kFloat32, {3, 4}}));
  EXPECT_THROW(types.of({"b", 1}), Error);
  EXPECT_NO_THROW(verify(simple_case(), small_table()));
}

TEST(VerifyTest, NamesThePlace) {
  refuses("/nodes/0/op: unknown operator 'aten.sine.default'",
          [](Program& p) { p.nodes[0].op = "aten.sine.default"; });
  refuses("/nodes/1/args/self: 'c' is not defined before this",
          [](Program& p) { p.nodes[1].args[0].value = Ref{"c"}; });
  refuses("/nodes/0/args/self: 'b' is not defined before this",
          [](Program& p) { p.nodes[0].args[0].value = Ref{"b"}; });
  refuses("/nodes/0/args/self: 'a' is not defined before this",
          [](Program& p) { p.nodes[0].args[0].value = Ref{"a"}; });
  refuses("/nodes/1/args/other: 'x' has no output 1", [](Program& p) {
    p.nodes[1].args[1].value = Ref{"x", 1};
  });
  refuses("/outputs/0: 'b' has no output 2", [](Program& p) { p.outputs[0].output = 2; });
  refuses("/nodes/1/args/othr: aten.add.Tensor has no such argument",
          [](Program& p) { p.nodes[1].args[1].name = "othr"; });
  refuses("/nodes/1/args: aten.add.Tensor needs 'other'",
          [](Program& p) { p.nodes[1].args.pop_back(); });
  refuses("/nodes/1/args/self: given twice", [](Program& p) { p.nodes[1].args[1].name = "self"; });
  refuses("/nodes/1/args/alpha: aten.add.Tensor wants a scalar here", [](Program& p) {
    p.nodes[1].args.push_back({"alpha", 2.0});
  });
  refuses("/nodes/1/args/self: aten.add.Tensor wants a tensor here",
          [](Program& p) { p.nodes[1].args[0].value = std::monostate(); });
  refuses("/nodes/1/name: the name 'a' is taken", [](Program& p) { p.nodes[1].name = "a"; });
  refuses("/nodes/1/name: 'lambda' means something",
          [](Program& p) { p.nodes[1].name = "lambda"; });
  refuses("/inputs/0/name: 'torch' means something",
          [](Program& p) { p.inputs[0].name = "torch"; });
  refuses("/inputs/0/name: '0x' is not a name", [](Program& p) { p.inputs[0].name = "0x"; });
  refuses("/inputs/0/shape/1: the size symbol s0 has no value",
          [](Program& p) { p.inputs[0].shape[1] = Dim::symbol("s0"); });
  refuses("/inputs/0/shape: float32[3, -1] has a negative size",
          [](Program& p) { p.inputs[0].shape[1] = -1; });
  refuses("/inputs/0/shape: float32[3, 4611686018427387904] has more than 2^28 elements",
          [](Program& p) { p.inputs[0].shape[1] = std::int64_t{1} << 62; });
  refuses("/inputs/0/shape: rank 17 is above 16",
          [](Program& p) { p.inputs[0].shape.assign(17, 1); });
  refuses("/nodes/1: shapes [3, 4] and [3] do not broadcast", [](Program& p) {
    p.inputs.push_back({"y", DType::kFloat32, {3}});
    p.nodes[1].args[1].value = Ref{"y"};
  });
  refuses("/nodes/2/args/tensors: null may not stand in this list", [](Program& p) {
    p.nodes.push_back(node("c", "aten.cat.default", {{"tensors", std::vector<Ref>{{"a"}, {}}}}));
  });
  refuses("/nodes: more than 4096", [](Program& p) { p.nodes.resize(5000, p.nodes[0]); });
}

TEST(VerifyTest, NumbersStandInTensorSlots) {
  Program p = simple();
  p.nodes[1].args[1].value = Scalar{0.5};
  EXPECT_EQ(verify(p, small_table()).of({"b"}).dtype, DType::kFloat32);
  refuses("/nodes/2/args/self: aten.sin_.default wants a tensor", [](Program& q) {
    q.nodes.push_back(node("c", "aten.sin_.default", {{"self", Scalar{0.5}}}));
  });
}

// simple() with nodes inserted between a and b.
std::function<void(Program&)> inserting(std::vector<Node> nodes) {
  return [nodes](Program& p) { p.nodes.insert(p.nodes.begin() + 1, nodes.begin(), nodes.end()); };
}

TEST(VerifyTest, WritesWithOneMeaningAreAccepted) {
  const auto accepts = [](std::vector<Node> nodes, std::vector<Ref> also_output = {}) {
    Program p = simple();
    inserting(std::move(nodes))(p);
    p.outputs.insert(p.outputs.end(), also_output.begin(), also_output.end());
    EXPECT_NO_THROW(verify(p, small_table()));
  };
  const Node write = node("w", "aten.sin_.default", {{"self", Ref{"a"}}});
  accepts({write});
  accepts({node("v", "aten.select.int", {{"self", Ref{"a"}}, {"dim", Dim(0)}, {"index", Dim(1)}}),
           node("w", "aten.sin_.default", {{"self", Ref{"v"}}})},
          {{"v"}, {"w"}, {"a"}});
  // Taken after the write, or not looked at after it.
  const Node reshape =
      node("r", "aten.reshape.default", {{"self", Ref{"a"}}, {"shape", std::vector<Dim>{12}}});
  accepts({write, reshape}, {{"r"}});
  accepts({reshape, node("s", "aten.sin.default", {{"self", Ref{"r"}}}), write}, {{"s"}});
  accepts({node("w", "aten.add_.Tensor", {{"self", Ref{"a"}}, {"other", Ref{"a"}}})});
}

TEST(VerifyTest, WritesThatDependOnALayoutAreRefused) {
  const Node write = node("w", "aten.sin_.default", {{"self", Ref{"a"}}});
  const Node reshape =
      node("r", "aten.reshape.default", {{"self", Ref{"a"}}, {"shape", std::vector<Dim>{12}}});
  refuses("/nodes/2: w (aten.sin_.default) writes a, whose storage r may or may not share",
          [&](Program& p) {
            inserting({reshape, write})(p);
            p.outputs.push_back({"r"});
          });
  refuses("/nodes/2: w (aten.sin_.default) writes r, whose storage a may or may not share",
          inserting({reshape, node("w", "aten.sin_.default", {{"self", Ref{"r"}}})}));
  // Whether x was written would be seen by the caller.
  refuses("/nodes/2: w (aten.sin_.default) writes r, whose storage x may or may not share",
          [](Program& p) {
            p.nodes = {
                node("a", "aten.sin.default", {{"self", kX}}),
                node("r", "aten.reshape.default", {{"self", kX}, {"shape", std::vector<Dim>{12}}}),
                node("w", "aten.sin_.default", {{"self", Ref{"r"}}})};
            p.outputs = {{"a"}};
          });
}

TEST(VerifyTest, WritesWithoutAMeaningAreRefused) {
  refuses("/nodes/2: w (aten.sin_.default) writes the expanded view e",
          inserting({node("e", "aten.expand.default",
                          {{"self", Ref{"a"}}, {"size", std::vector<Dim>{2, 3, 4}}}),
                     node("w", "aten.sin_.default", {{"self", Ref{"e"}}})}));
  refuses("/nodes/3: w (aten.sin_.default) writes the expanded view e",
          inserting({node("e", "aten.expand.default",
                          {{"self", Ref{"a"}}, {"size", std::vector<Dim>{2, 3, 4}}}),
                     node("s", "aten.select.int",
                          {{"self", Ref{"e"}}, {"dim", Dim(1)}, {"index", Dim(0)}}),
                     node("w", "aten.sin_.default", {{"self", Ref{"s"}}})}));
  refuses("/nodes/2: w (aten.sin_.default) writes through u:1, a view by aten.unbind.int",
          inserting({node("u", "aten.unbind.int", {{"self", Ref{"a"}}}),
                     node("w", "aten.sin_.default", {{"self", Ref{"u", 1}}})}));
  refuses("/nodes/2: w (aten.add_.Tensor) reads t, which may share the storage that is written",
          inserting({node("t", "aten.transpose.int",
                          {{"self", Ref{"a"}}, {"dim0", Dim(0)}, {"dim1", Dim(1)}}),
                     node("w", "aten.add_.Tensor", {{"self", Ref{"a"}}, {"other", Ref{"t"}}})}));
  refuses("/nodes/1: w (aten.exp_.default) its out-of-place operator aten.exp.default has no row",
          inserting({node("w", "aten.exp_.default", {{"self", Ref{"a"}}})}));
}

TEST(VerifyTest, CasesAreHeldAgainstTheirProgram) {
  refuses_case("/program/nodes/0/op: unknown", [](Case& c) { c.program.nodes[0].op = "no"; });
  refuses_case("/inputs: 0 inputs for a program with 1", [](Case& c) { c.inputs.clear(); });
  refuses_case("/inputs/x/strides: 1 strides for float32[3, 4]",
               [](Case& c) { c.inputs[0].strides = {1}; });
  refuses_case("/inputs/x/strides: a stride is negative", [](Case& c) {
    c.inputs[0].strides = {4, -1};
  });
  refuses_case("/inputs/x/strides: the storage has more than 2^28 elements", [](Case& c) {
    c.inputs[0].strides = {std::int64_t{1} << 62, 1};
  });
  refuses_case("/inputs/x/offset", [](Case& c) { c.inputs[0].offset = -1; });
  refuses_case("/inputs/x/fill: 2 literals for 12 elements", [](Case& c) {
    c.inputs[0].fill = {.kind = Fill::Kind::kLiteral, .values = {1, 2}};
  });
  refuses_case("/wrt/0: the program has no input 'y'", [](Case& c) { c.wrt = {"y"}; });
  refuses_case("/wrt/1: given twice", [](Case& c) { c.wrt = {"x", "x"}; });
  refuses_case("/wrt/0: an integral input has no gradient",
               [](Case& c) { c.program.inputs[0].dtype = DType::kInt32; });
  refuses_case("/wrt: grad mode is off", [](Case& c) { c.environment.grad = false; });
  refuses_case("/cotangents: 0 cotangents for 1 outputs", [](Case& c) { c.cotangents.clear(); });
  refuses_case("/cotangents: no output receives", [](Case& c) { c.cotangents = {std::nullopt}; });
  refuses_case("/cotangents: there is nothing", [](Case& c) { c.wrt.clear(); });
  refuses_case("/cotangents/0/strides: 1 strides", [](Case& c) { c.cotangents[0]->strides = {0}; });
  refuses_case("/model: the case is not lowered", [](Case& c) {
    c = Case();
    c.model = ModelConfig{"qwen2", {}};
  });
}

TEST(VerifyTest, WrittenInputsAreSingleAndNotLeaves) {
  const auto writing = [](Case& c) {
    c.program.nodes.push_back(node("w", "aten.sin_.default", {{"self", kX}}));
    c.wrt.clear();
    c.cotangents.clear();
  };
  Case c = simple_case();
  writing(c);
  EXPECT_NO_THROW(verify(c, small_table()));
  c.inputs[0].strides = {1, 3};
  EXPECT_NO_THROW(verify(c, small_table()));
  refuses_case("/inputs/x/strides: elements overlap", [&](Case& d) {
    writing(d);
    d.inputs[0].strides = {2, 1};
  });
  refuses_case("/wrt: the program writes x", [&](Case& d) {
    d.program.nodes.push_back(node("w", "aten.sin_.default", {{"self", kX}}));
  });
  refuses_case("/inputs/x/alias: the program writes an input that shares", [&](Case& d) {
    writing(d);
    d.program.inputs.push_back({"y", DType::kFloat32, {2}});
    d.inputs.resize(2);
    d.inputs[0].alias = d.inputs[1].alias = 0;
  });
  refuses_case("/inputs/y/alias: inputs that share a storage have one dtype", [&](Case& d) {
    d.program.inputs.push_back({"y", DType::kInt8, {2}});
    d.inputs.resize(2);
    d.inputs[0].alias = d.inputs[1].alias = 0;
  });
}

}  // namespace
}  // namespace ulpfuzz
