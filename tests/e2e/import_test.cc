// Sources as users have them, on real torch and libraries: what becomes of each, and what is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

std::filesystem::path config_of(const Folder& folder, nlohmann::json more = {}) {
  nlohmann::json config = {{"model_type", "qwen2"},    {"num_attention_heads", 4},
                           {"num_key_value_heads", 2}, {"num_hidden_layers", 1},
                           {"hidden_size", 16},        {"intermediate_size", 8},
                           {"vocab_size", 11},         {"max_position_embeddings", 8},
                           {"torch_dtype", "bfloat16"}};
  config.update(more);
  write_text(folder / "config.json", config.dump());
  return folder / "config.json";
}

// The configuration that transformers itself writes is taken, and its program is the module's.
TEST(Import, ConfigOfTheLibraryBecomesAModuleAndAProgram) {
  Folder folder;
  const std::string script =
      "import sys, transformers\n"
      "c = transformers.LlamaConfig(num_attention_heads=4, num_key_value_heads=2, hidden_size=16,\n"
      "    num_hidden_layers=1, intermediate_size=8, vocab_size=11, max_position_embeddings=8,\n"
      "    head_dim=4, rope_parameters={'rope_type': 'default', 'rope_theta': 500.0})\n"
      "c.save_pretrained(sys.argv[1])\n";
  const Output saved = run_program({python(), "-c", script, folder.path()});
  ASSERT_EQ(saved.status, 0) << saved.err;
  const Output module = ulpfuzz_run({"import", folder / "config.json", "--json"});
  ASSERT_EQ(module.status, 0) << module.err;
  EXPECT_EQ(module.json().at("kind"), "config");
  EXPECT_EQ(module.json().at("notes").size(), 0u) << module.json().at("notes");
  EXPECT_EQ(module.json().at("document").at("module").at("module"),
            "transformers.LlamaForCausalLM");
  const Output program = ulpfuzz_run(
      {"import", folder / "config.json", "--program", "-o", folder / "case.json", "--json"});
  ASSERT_EQ(program.status, 0) << program.err;
  EXPECT_GT(program.json().at("nodes"), 20);
  const Output shown = ulpfuzz_run({"show", folder / "case.json"});
  EXPECT_THAT(shown.out, HasSubstr("scaled_dot_product_attention"));
  // `show` takes the source itself too.
  EXPECT_THAT(ulpfuzz_run({"show", folder / "config.json"}).out,
              HasSubstr("scaled_dot_product_attention"));
}

TEST(Import, ConfigThatWouldLoadCodeIsRefused) {
  Folder folder;
  const auto path = config_of(folder, {{"auto_map", {{"AutoModel", "modeling.Model"}}}});
  for (const char* command : {"import", "judge", "minimize"}) {
    const Output refused = ulpfuzz_run({command, path});
    EXPECT_EQ(refused.status, 2) << command;
    EXPECT_THAT(refused.err, HasSubstr("/auto_map")) << command;
    EXPECT_EQ(refused.out, "") << command;
  }
}

TEST(Import, FamilyAndFieldsBecomeACase) {
  Folder folder;
  const Output made = ulpfuzz_run({"import", "--family", "qwen2", "-o", folder / "case.json",
                                   "--set", "num_attention_heads=4", "hidden_size=8"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("num_key_value_heads=1"));
  EXPECT_THAT(ulpfuzz_run({"show", folder / "case.json"}).out, HasSubstr("head_dim=2"));
  EXPECT_EQ(ulpfuzz_run({"import"}).status, 2);
  EXPECT_EQ(ulpfuzz_run({"import", folder / "case.json", "--family", "qwen2"}).status, 2);
}

}  // namespace
}  // namespace ulpfuzz
