#include "systems/fault.h"

#include <gtest/gtest.h>

#include <cmath>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "tests/systems/cases.h"

// Each fault of the program changes what it says it changes, and the program still verifies.
namespace ulpfuzz {
namespace {

Case planted(const Case& c, const std::string& fault, bool expected = true) {
  bool found = !expected;
  Case result = plant(c, fault, op_table(), found);
  EXPECT_EQ(found, expected) << fault;
  verify(result, op_table());
  if (!expected) {
    EXPECT_EQ(result, c);
  }
  return result;
}

// A Qwen2 with groups of query heads.
Case qwen2() {
  for (std::uint64_t seed = 0;; ++seed) {
    Random random(seed);
    Case c;
    c.model = family("qwen2").draw(random);
    const auto heads = [&](const char* name) {
      return std::get<std::int64_t>(c.model->fields.at(name));
    };
    if (heads("num_key_value_heads") < 2) continue;
    if (heads("num_attention_heads") == heads("num_key_value_heads")) continue;
    c = bind_symbols(lower(c));
    const std::string source = to_json(c);
    if (source.find("_k_rope") != std::string::npos) return c;
  }
}

std::vector<double> scales(const Case& c) {
  std::vector<double> result;
  for (const Node& node : c.program.nodes) {
    if (node.op != "aten.scaled_dot_product_attention.default") continue;
    const Argument* scale = node.find("scale");
    result.push_back(scale != nullptr ? std::get<double>(*scale) : NAN);
  }
  return result;
}

TEST(Faults, AttentionScaleIsMultiplied) {
  const Case c = qwen2();
  const std::vector<double> before = scales(c), after = scales(planted(c, "attn-scale=1.03"));
  ASSERT_FALSE(before.empty());
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i] * 1.03);

  CaseBuilder b;  // without a scale: the default is 1 / sqrt(4)
  const Ref q = b.input("q", DType::kFloat32, {1, 1, 2, 4}, {1});
  b.output(b.node("y", "scaled_dot_product_attention.default",
                  {{"query", q}, {"key", q}, {"value", q}}));
  EXPECT_EQ(scales(planted(b.take(), "attn-scale=2")), std::vector<double>{1});
}

TEST(Faults, KeysWithoutRotaryEmbedding) {
  const Case c = planted(qwen2(), "rope-k-skipped");
  int attentions = 0;
  for (const Node& node : c.program.nodes) {
    EXPECT_FALSE(node.name.ends_with("_k_rope"));  // dead, so gone
    if (node.op != "aten.scaled_dot_product_attention.default") continue;
    ++attentions;
    EXPECT_TRUE(std::get<Ref>(*node.find("key")).name.ends_with("_k_heads"));
    EXPECT_TRUE(std::get<Ref>(*node.find("query")).name.ends_with("_q_rope"));
  }
  EXPECT_GT(attentions, 0);
}

TEST(Faults, NormsWithoutEps) {
  const Case before = qwen2();
  const Case after = planted(before, "rms-no-eps");
  int changed = 0;
  for (std::size_t i = 0; i < before.program.nodes.size(); ++i) {
    if (before.program.nodes[i] == after.program.nodes[i]) continue;
    ++changed;
    EXPECT_TRUE(after.program.nodes[i].name.ends_with("_shifted")) << after.program.nodes[i].name;
    EXPECT_EQ(std::get<Scalar>(*after.program.nodes[i].find("other")), Scalar{0.0});
  }
  EXPECT_GE(changed, 3);  // two a layer and the last one
}

// Proves: the casts of a half-typed model's norms are gone; a float32 model has none to lose.
TEST(Faults, NormsWithoutUpcast) {
  Case half = qwen2();
  ModelConfig model = *half.model;
  half = Case();
  half.model = model;
  half.model->fields["dtype"] = std::string("bfloat16");
  const Case before = bind_symbols(lower(half));
  const Case after = planted(before, "rms-no-upcast");
  int changed = 0;
  for (std::size_t i = 0; i < before.program.nodes.size(); ++i) {
    if (before.program.nodes[i] == after.program.nodes[i]) continue;
    ++changed;
    EXPECT_EQ(std::get<DType>(*after.program.nodes[i].find("dtype")), DType::kBFloat16);
  }
  EXPECT_GE(changed, 3);  // two a layer and the last one
  half.model->fields["dtype"] = std::string("float32");
  planted(bind_symbols(lower(half)), "rms-no-upcast", false);
}

TEST(Faults, KeyHeadsInTurns) {
  const Case c = planted(qwen2(), "kv-interleave");
  int repeats = 0;
  for (const Node& node : c.program.nodes) repeats += node.op == "aten.repeat.default";
  EXPECT_EQ(static_cast<std::size_t>(repeats), 2 * scales(c).size());
}

TEST(Faults, OtherActivations) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2}, {1, -1});
  const Ref relu = b.node("a", "relu.default", {{"self", x}});
  b.output(b.node("y", "neg.default", {{"self", relu}})).output(relu);
  const Case c = planted(b.take(), "relu-plus-one");
  ASSERT_EQ(c.program.nodes.size(), 3u);
  EXPECT_EQ(c.program.nodes[1].op, "aten.add.Tensor");
  EXPECT_EQ(std::get<Ref>(*c.program.nodes[2].find("self")), (Ref{"a_1", 0}));
  EXPECT_EQ(c.program.outputs[1], (Ref{"a_1", 0}));
  planted(qwen2(), "gelu-for-silu");
}

TEST(Faults, AProgramWithoutAPlaceStaysAsItIs) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kInt64, {2}, {1, 2});
  const Case c = b.output(b.node("y", "neg.default", {{"self", x}})).take();
  for (const FaultKind& kind : fault_kinds()) {
    planted(c, std::string(kind.name) + (kind.takes_value() ? "=1.03" : ""), false);
  }
}

TEST(Faults, NamesAndValuesAreChecked) {
  for (const char* fault : {"", "atn-scale=1", "attn-scale", "attn-scale=", "attn-scale=x",
                            "attn-scale=1.5x", "crash=1", "rms-no-eps=0"}) {
    EXPECT_THROW(fault_kind(fault), Error) << fault;
  }
  EXPECT_TRUE(fault_kind("attn-scale=0.97").in_program);
  EXPECT_FALSE(fault_kind("crash").in_program);
}

}  // namespace
}  // namespace ulpfuzz
