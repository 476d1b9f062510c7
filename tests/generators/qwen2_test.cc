#include "generators/qwen2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

ModelConfig smallest() {
  ModelConfig config{"qwen2", {}};
  for (const ConfigField& field : family("qwen2").fields) {
    config.fields[std::string(field.name)] = field.smallest;
  }
  return config;
}

std::string refusal(const ModelConfig& config) {
  try {
    family("qwen2").build(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Qwen2, RandomConfigurationsVerify) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const ModelConfig config = family("qwen2").draw(random);
    const Case c = family("qwen2").build(config);
    verify(c, op_table());
    EXPECT_EQ(c.model, config);
    EXPECT_EQ(c.wrt.empty(), !std::get<bool>(config.fields.at("gradients")));
  }
}

// Reduction goes from field to field towards the smallest values: they must be a model.
TEST(Qwen2, TheSmallestValuesAreAConfiguration) {
  verify(family("qwen2").build(smallest()), op_table());
}

TEST(Qwen2, DrawsEveryKindOfAttention) {
  Random random(2);
  std::set<std::string> kinds;
  std::set<std::string> dtypes;
  for (int i = 0; i < 200; ++i) {
    const Qwen2Config c = read_qwen2(family("qwen2").draw(random));
    const bool one = c.num_key_value_heads == 1,
               same = c.num_key_value_heads == c.num_attention_heads;
    kinds.insert(same ? "MHA" : one ? "MQA" : "GQA");
    if (c.head_dim % 2 == 1) kinds.insert("odd head_dim");
    if (c.head_dim % 4 == 2) kinds.insert("odd half");
    if (c.length == 1) kinds.insert("one token");
    dtypes.insert(c.dtype);
  }
  EXPECT_THAT(kinds, testing::UnorderedElementsAre("MHA", "MQA", "GQA", "odd head_dim", "odd half",
                                                   "one token"));
  EXPECT_THAT(dtypes, testing::UnorderedElementsAre("float32", "bfloat16", "float16"));
}

// Planted faults look for these names.
TEST(Qwen2, NamesKeysBeforeAndAfterRotation) {
  Random random(3);
  ModelConfig config = family("qwen2").draw(random);
  config.fields["rope"] = true;
  config.fields["head_dim"] = std::int64_t{4};
  const Program program = family("qwen2").build(config).program;
  const Node* before = program.find_node("layer0_k_heads");
  const Node* after = program.find_node("layer0_k_rope");
  const Node* attention = program.find_node("layer0_attention");
  ASSERT_NE(before, nullptr);
  ASSERT_NE(after, nullptr);
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(std::get<Ref>(*attention->find("key")), (Ref{"layer0_k_rope", 0}));
}

TEST(Qwen2, RefusesWhatIsNotAModelAndNamesTheField) {
  const auto with = [](const std::string& field, auto value) {
    ModelConfig config = smallest();
    config.fields[field] = value;
    return refusal(config);
  };
  EXPECT_THAT(with("num_key_value_heads", std::int64_t{2}), HasSubstr("num_attention_heads"));
  EXPECT_THAT(with("batch", std::int64_t{0}), HasSubstr("batch: must be at least 1"));
  EXPECT_THAT(with("labels", true), HasSubstr("length"));  // one token has no next one
  EXPECT_THAT(with("length", std::int64_t{2}), HasSubstr("max_position_embeddings"));
  EXPECT_THAT(with("dtype", std::string("int64")), HasSubstr("dtype"));
  EXPECT_THAT(with("batch", 1.0), HasSubstr("another type"));
  EXPECT_THAT(with("auto_map", std::string("x")), HasSubstr("not a field"));
  ModelConfig odd = smallest();
  odd.fields["head_dim"] = std::int64_t{3};
  EXPECT_EQ(refusal(odd), "accepted");
  odd.fields["rope"] = true;
  EXPECT_THAT(refusal(odd), HasSubstr("head_dim: must be even"));
}

// Another layer, or none: the other parameters keep their numbers, so that reduction changes one
// thing at a time.
TEST(Qwen2, ParametersKeepTheirElementsWhenOthersGo) {
  ModelConfig one = smallest(), two = smallest();
  two.fields["num_hidden_layers"] = std::int64_t{2};
  const Case a = family("qwen2").build(one), b = family("qwen2").build(two);
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    for (std::size_t j = 0; j < b.inputs.size(); ++j) {
      if (a.program.inputs[i].name == b.program.inputs[j].name) {
        EXPECT_EQ(a.inputs[i], b.inputs[j]);
      }
    }
  }
}

}  // namespace
}  // namespace ulpfuzz
