#include "generators/phi3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "oracle/oracle.h"

namespace ulpfuzz {
namespace {

ModelConfig drawn(std::uint64_t seed) {
  Random random(seed);
  return family("phi3").draw(random);
}

const Argument* argument_of(const Case& c, const std::string& node, const std::string& arg) {
  const Node* found = c.program.find_node(node);
  return found == nullptr ? nullptr : found->find(arg);
}

TEST(Phi3, DrawsEveryKindOfRotationAndMask) {
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Phi3Config c = read_phi3(drawn(seed));
    const std::int64_t turned = c.rope_n_elem();
    kinds.insert(turned == 0 ? "none" : turned == c.head_dim ? "all" : "part");
    if (turned % 2 == 1) kinds.insert("odd");
    kinds.insert(c.sliding_window_size == 0          ? "causal"
                 : c.sliding_window_size >= c.length ? "wide window"
                                                     : "window");
    kinds.insert(c.num_key_value_heads == c.num_attention_heads ? "MHA" : "GQA");
    if (c.labels) kinds.insert(c.reshape_loss ? "reshaped" : "transposed");
  }
  EXPECT_THAT(kinds,
              testing::UnorderedElementsAre("none", "all", "part", "odd", "causal", "window",
                                            "wide window", "MHA", "GQA", "reshaped", "transposed"));
}

// The mask by its definition: a token sees itself and the window_size - 1 tokens before it.
TEST(Phi3, TheWindowIsWhatATokenSees) {
  ModelConfig config = drawn(0);
  config.fields["length"] = config.fields["max_seq_length"] = std::int64_t{5};
  config.fields["sliding_window_size"] = std::int64_t{2};
  config.fields["gradients"] = false;
  Case c = family("phi3").build(config);
  ASSERT_NE(argument_of(c, "layer0_attention", "attn_mask"), nullptr);
  EXPECT_EQ(argument_of(c, "layer0_attention", "is_causal"), nullptr);
  c.program.outputs = {{"layer0_mask_heads", 0}};
  c.cotangents = {std::nullopt};
  const std::vector<double> mask = Oracle(op_table()).exact(c).tensors.at(0).values;
  ASSERT_EQ(mask.size(), 25u);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_EQ(mask[5 * i + j], j <= i && i < j + 2 ? 0 : -INFINITY) << i << " " << j;
    }
  }
  config.fields["sliding_window_size"] = std::int64_t{0};
  c = family("phi3").build(config);
  EXPECT_EQ(argument_of(c, "layer0_attention", "attn_mask"), nullptr);
  EXPECT_EQ(std::get<bool>(*argument_of(c, "layer0_attention", "is_causal")), true);
}

// The ablation: the same loss of the same logits, in the other layout.
TEST(Phi3, TheLossIsTheSameWithoutTheReshape) {
  ModelConfig config = drawn(1);
  for (const auto& [field, value] : std::map<std::string, std::int64_t>{
           {"batch", 2}, {"n_layer", 1}, {"padded_vocab_size", 5}}) {
    config.fields[field] = value;
  }
  config.fields["labels"] = config.fields["reshape_loss"] = true;
  config.fields["dtype"] = std::string("float32");
  const Oracle oracle(op_table());
  const double reshaped = oracle.exact(family("phi3").build(config)).tensors.at(0).values.at(0);
  config.fields["reshape_loss"] = false;
  const Case c = family("phi3").build(config);
  EXPECT_EQ(c.program.find_node("logits_rows"), nullptr);
  EXPECT_NEAR(oracle.exact(c).tensors.at(0).values.at(0), reshaped, 1e-12 * reshaped);
}

TEST(Phi3, RefusesWhatLitGptTurnsIntoSomethingElse) {
  ModelConfig config = drawn(2);
  config.fields["head_size"] = std::int64_t{4};
  config.fields["rotary_percentage"] = 0.25;  // one element: LitGPT makes two of it
  EXPECT_THROW(read_phi3(config), Error);
  config.fields["rotary_percentage"] = 0.75;
  EXPECT_EQ(read_phi3(config).rope_n_elem(), 3);
  config.fields["rotary_percentage"] = 1.5;
  EXPECT_THROW(read_phi3(config), Error);
  config.fields["rotary_percentage"] = 1.0;
  config.fields["sliding_window_size"] = std::int64_t{-1};
  EXPECT_THROW(read_phi3(config), Error);
}

}  // namespace
}  // namespace ulpfuzz
