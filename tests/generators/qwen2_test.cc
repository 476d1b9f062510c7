#include "generators/qwen2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

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

// What every model of transformers asks of its fields.
TEST(Qwen2, RotaryEmbeddingTurnsPairs) {
  Random random(3);
  ModelConfig config = family("qwen2").draw(random);
  config.fields["head_dim"] = std::int64_t{3};
  config.fields["rope"] = false;
  verify(family("qwen2").build(config), op_table());
  config.fields["rope"] = true;
  EXPECT_THROW(read_qwen2(config), Error);
}

TEST(Qwen2, OneTokenHasNoNextOne) {
  Random random(3);
  ModelConfig config = family("qwen2").draw(random);
  config.fields["labels"] = true;
  config.fields["length"] = std::int64_t{1};
  EXPECT_THROW(read_qwen2(config), Error);
}

}  // namespace
}  // namespace ulpfuzz
