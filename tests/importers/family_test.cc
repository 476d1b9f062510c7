#include "importers/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

// Every family makes a case from nothing but its name, with rotary embedding, loss and gradients.
TEST(ImportFamily, NeedsNoFields) {
  for (const Family& kind : families()) {
    const Imported imported = import_family(std::string(kind.name), {});
    ASSERT_EQ(imported.notes.size(), 1u);
    const Case c = lower(imported.test);
    EXPECT_NO_THROW(verify(c, op_table())) << kind.name;
    EXPECT_FALSE(c.wrt.empty()) << kind.name;
    EXPECT_EQ(c.program.outputs.size(), 2u) << kind.name;
  }
}

TEST(ImportFamily, WorksOutWhatFollows) {
  const Imported imported = import_family("qwen2", {{"num_attention_heads", "28"},
                                                    {"num_key_value_heads", "4"},
                                                    {"hidden_size", "112"},
                                                    {"length", "64"}});
  const auto& fields = imported.test.model->fields;
  EXPECT_EQ(std::get<std::int64_t>(fields.at("head_dim")), 4);
  EXPECT_EQ(std::get<std::int64_t>(fields.at("max_position_embeddings")), 64);
  EXPECT_EQ(imported.notes[0].find("num_attention_heads"), std::string::npos);
}

TEST(ImportFamily, RefusesFieldsAndValuesByName) {
  const auto error_of = [](const std::string& name, const Settings& settings) -> std::string {
    try {
      import_family(name, settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of("gemma", {}), HasSubstr("qwen2"));
  EXPECT_THAT(error_of("qwen2", {{"n_head", "2"}}), HasSubstr("--set n_head"));
  EXPECT_THAT(error_of("qwen2", {{"num_attention_heads", "3"}, {"num_key_value_heads", "2"}}),
              HasSubstr("num_attention_heads"));
  EXPECT_THAT(error_of("qwen2", {{"labels", "perhaps"}}), HasSubstr("neither true nor false"));
}

TEST(Settings, AreFieldsWithValues) {
  EXPECT_EQ(parse_settings({"a=1", "b=x=y"}), (Settings{{"a", "1"}, {"b", "x=y"}}));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"a"}, {"=1"}, {"a=1", "a=2"}}) {
    EXPECT_THROW(parse_settings(words), Error);
  }
}

}  // namespace
}  // namespace ulpfuzz
