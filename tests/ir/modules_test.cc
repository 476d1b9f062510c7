#include "ir/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "ir/json.h"
#include "ir/verify.h"
#include "tests/ir/small_table.h"

// A case names a module and its fields from lists: whatever else it says is refused where it
// stands.
namespace ulpfuzz {
namespace {

using testing::HasSubstr;

Case module_case() {
  ModuleConfig module;
  module.module = "transformers.Qwen2ForCausalLM";
  module.config = {{"num_hidden_layers", std::int64_t{1}},
                   {"rms_norm_eps", 1e-6},
                   {"tie_word_embeddings", true},
                   {"hidden_act", std::string("gelu")}};
  module.dtype = "bfloat16";
  module.batch = 2;
  module.length = 7;
  module.labels = true;
  module.seed = ~std::uint64_t{0};
  Case c;
  c.module = module;
  c.environment.threads = 2;
  return c;
}

// The error that a change of the case's JSON gives, or "".
std::string refused(const std::function<void(Json&)>& change) {
  Json json = Json::parse(to_json(module_case()));
  change(json["module"]);
  try {
    case_from_json(json.dump(), "c.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Modules, ACaseGoesThroughJsonUnchanged) {
  const Case c = module_case();
  EXPECT_FALSE(is_lowered(c));
  EXPECT_EQ(case_from_json(to_json(c), ""), c);
  EXPECT_EQ(case_from_json(to_pretty_json(c), ""), c);
  Case other = c;
  other.module->seed = 1;
  EXPECT_NE(hashes(c).whole, hashes(other).whole);
  EXPECT_NE(hashes(c).program, hashes(other).program);
}

TEST(Modules, ThisCaseIsNotRefused) {
  EXPECT_EQ(refused([](Json&) {}), "");
}

TEST(Modules, WhatIsNotInTheListIsRefusedWhereItStands) {
  const auto expect = [](const char* place, const char* why, const auto& change) {
    const std::string message = refused(change);
    EXPECT_THAT(message, testing::StartsWith(std::string("c.json#") + place + ": "));
    EXPECT_THAT(message, HasSubstr(why));
  };
  expect("/module/module", "is not one of transformers.Qwen2ForCausalLM",
         [](Json& j) { j["module"] = "transformers.AutoModelForCausalLM"; });
  for (const char* field : {"auto_map", "trust_remote_code", "use_kernels", "_name_or_path",
                            "quantization_config", "n_layer"}) {
    expect((std::string("/module/config/") + field).c_str(), "is not a field of",
           [&](Json& j) { j["config"][field] = true; });
  }
  expect("/module/config/attn_implementation", "must be one of sdpa, eager",
         [](Json& j) { j["config"]["attn_implementation"] = "kernels-community/flash-attn"; });
  expect("/module/config/hidden_act", "is of another type",
         [](Json& j) { j["config"]["hidden_act"] = 3; });
  expect("/module/config/num_hidden_layers", "must be in [1, ",
         [](Json& j) { j["config"]["num_hidden_layers"] = 0; });
  expect("/module/config/num_hidden_layers", "must be in [1, ",
         [](Json& j) { j["config"]["num_hidden_layers"] = std::int64_t{1} << 40; });
  expect("/module/config/rms_norm_eps", "must be finite", [](Json& j) {
    j["config"]["rms_norm_eps"] = {{"float", "7ff0000000000000"}};
  });
  expect("/module/dtype", "must be a floating type", [](Json& j) { j["dtype"] = "int64"; });
  expect("/module/batch", "must be positive", [](Json& j) { j["batch"] = 0; });
  expect("/module/length", "must be at least 2", [](Json& j) { j["length"] = 1; });
  expect("/module/weights", "", [](Json& j) { j["weights"] = "model.safetensors"; });
}

TEST(Modules, AModelBesideAModuleIsRefused) {
  Json json = Json::parse(to_json(module_case()));
  json["model"] = {{"family", "qwen2"}, {"config", Json::object()}};
  EXPECT_THROW(case_from_json(json.dump(), ""), Error);
}

TEST(Modules, OneThatIsNotCapturedDoesNotVerify) {
  EXPECT_THROW(verify(module_case(), small_table()), Error);
}

// Each field's smallest value is itself allowed, so that reduction can lead there.
TEST(Modules, TheSmallestValuesAreAllowed) {
  for (const ModuleKind& kind : module_kinds()) {
    ModuleConfig module;
    module.module = kind.name;
    for (const ModuleField& field : kind.fields) {
      module.config[std::string(field.name)] = field.smallest;
    }
    EXPECT_NO_THROW(check_module(module, "")) << kind.name;
  }
}

}  // namespace
}  // namespace ulpfuzz
