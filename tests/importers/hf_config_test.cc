#include "importers/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// As published beside Qwen2 7B, but for weights.
nlohmann::json published() {
  return {{"architectures", {"Qwen2ForCausalLM"}},
          {"attention_dropout", 0.0},
          {"bos_token_id", 151643},
          {"hidden_act", "silu"},
          {"hidden_size", 3584},
          {"initializer_range", 0.02},
          {"intermediate_size", 18944},
          {"max_position_embeddings", 131072},
          {"max_window_layers", 28},
          {"model_type", "qwen2"},
          {"num_attention_heads", 28},
          {"num_hidden_layers", 28},
          {"num_key_value_heads", 4},
          {"rms_norm_eps", 1e-06},
          {"rope_theta", 1000000.0},
          {"sliding_window", 131072},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"},
          {"use_cache", true},
          {"use_sliding_window", false},
          {"vocab_size", 152064}};
}

Imported import(const nlohmann::json& config, const Settings& settings = {}) {
  return import_hf_config(config.dump(), "config.json", settings);
}

std::string error_of(const nlohmann::json& config, const Settings& settings = {}) {
  try {
    import(config, settings);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(HfConfig, TakesAPublishedConfigurationWholly) {
  const Imported imported = import(published());
  EXPECT_THAT(imported.notes, IsEmpty());
  const ModuleConfig& module = *imported.test.module;
  EXPECT_EQ(module.module, "transformers.Qwen2ForCausalLM");
  EXPECT_EQ(module.dtype, "bfloat16");
  EXPECT_EQ(std::get<std::int64_t>(module.config.at("num_key_value_heads")), 4);
  EXPECT_EQ(std::get<double>(module.config.at("rope_theta")), 1e6);
  EXPECT_TRUE(module.labels && module.gradients);
  EXPECT_EQ(module.length, 32);
}

TEST(HfConfig, SettingsComeOnTop) {
  const Imported imported = import(published(), {{"num_hidden_layers", "1"},
                                                 {"dtype", "float32"},
                                                 {"max_position_embeddings", "12"},
                                                 {"labels", "false"}});
  const ModuleConfig& module = *imported.test.module;
  EXPECT_EQ(std::get<std::int64_t>(module.config.at("num_hidden_layers")), 1);
  EXPECT_EQ(module.dtype, "float32");
  EXPECT_EQ(module.length, 12);
  EXPECT_FALSE(module.labels);
}

// Each field that changes what is computed and cannot be taken is named with its value.
TEST(HfConfig, NamesWhatItCannotTake) {
  const std::vector<std::pair<std::string, nlohmann::json>> fields = {
      {"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}},
      {"quantization_config", {{"bits", 4}}},
      {"attention_dropout", 0.1},
      {"use_sliding_window", true},
      {"hidden_act", "quick_gelu"},
      {"architectures", {"Qwen2ForSequenceClassification"}},
      {"layer_types", {"full_attention", "sliding_attention"}},
      {"torch_dtype", "int8"},
      {"a_field_of_tomorrow", 3}};
  for (const auto& [name, value] : fields) {
    nlohmann::json config = published();
    config[name] = value;
    EXPECT_THAT(import(config).notes, Contains(AllOf(HasSubstr(name), HasSubstr("not taken"))))
        << name;
  }
}

TEST(HfConfig, ReadsRopeOfTransformers5) {
  nlohmann::json config = published();
  config.erase("rope_theta");
  config["model_type"] = "phi3";
  config["architectures"] = {"Phi3ForCausalLM"};
  config["rope_parameters"] = {
      {"rope_type", "default"}, {"rope_theta", 500.0}, {"partial_rotary_factor", 0.5}};
  const Imported imported = import(config);
  EXPECT_EQ(std::get<double>(imported.test.module->config.at("rope_theta")), 500.0);
  EXPECT_EQ(std::get<double>(imported.test.module->config.at("partial_rotary_factor")), 0.5);
}

TEST(HfConfig, PaddingThatASmallerVocabularyHasNotIsLeftOut) {
  nlohmann::json config = published();
  config["pad_token_id"] = 151643;
  EXPECT_TRUE(import(config).test.module->config.contains("pad_token_id"));
  const Imported small = import(config, {{"vocab_size", "16"}});
  EXPECT_FALSE(small.test.module->config.contains("pad_token_id"));
  EXPECT_THAT(small.notes, Contains(HasSubstr("pad_token_id")));
}

TEST(HfConfig, RefusesWhatWouldLoadCode) {
  const std::vector<std::pair<std::string, nlohmann::json>> fields = {
      {"auto_map", {{"AutoModelForCausalLM", "modeling.MyModel"}}},
      {"trust_remote_code", true},
      {"use_kernels", true},
      {"_attn_implementation", "kernels-community/flash-attn"}};
  for (const auto& [name, value] : fields) {
    nlohmann::json config = published();
    config[name] = value;
    EXPECT_THAT(error_of(config), AllOf(HasSubstr("config.json#/" + name), HasSubstr("load")));
  }
  nlohmann::json off = published();
  off["trust_remote_code"] = false;
  EXPECT_EQ(error_of(off), "");
}

TEST(HfConfig, RefusesOtherModelsAndValuesByTheirPlace) {
  nlohmann::json config = published();
  config["model_type"] = "mamba";
  EXPECT_THAT(error_of(config), AllOf(HasSubstr("/model_type"), HasSubstr("qwen2, llama, phi3")));
  EXPECT_THAT(error_of(published(), {{"no_such", "1"}}), HasSubstr("--set no_such"));
  EXPECT_THAT(error_of(published(), {{"hidden_size", "big"}}), HasSubstr("not an integer"));
  EXPECT_THAT(error_of(published(), {{"hidden_size", "0"}}), HasSubstr("hidden_size"));
  EXPECT_THAT(error_of(published(), {{"dtype", "int64"}}), HasSubstr("dtype"));
}

}  // namespace
}  // namespace ulpfuzz
