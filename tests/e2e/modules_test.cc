#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "generators/modules.h"
#include "ir/error.h"
#include "judge/facts.h"
#include "ops/table.h"
#include "systems/capture.h"
#include "tests/e2e/binary.h"

// Library modules: what is captured of one is its eager run to the bit, outputs and gradients, on
// two input sets. ULPFUZZ_MODULE_CASES: random configurations of each module (default 2).
namespace ulpfuzz {
namespace {

using testing::HasSubstr;

Case draw(const std::string& name, std::uint64_t seed) {
  Random random(seed);
  Case c;
  c.module = draw_module(random, name);
  c.environment.grad = c.module->gradients;
  return c;
}

// One host for all tests: it imports the libraries once.
Scheduler& one_host() {
  static Scheduler scheduler(op_table(), [] {
    SchedulerOptions options;
    options.jobs = 1;
    return options;
  }());
  return scheduler;
}

std::vector<Fact> mismatches(const Case& c, const std::string& fault) {
  const Case module = capture(c, one_host(), fault);
  Case program = module;
  program.module.reset();
  const std::vector<RunRequest> requests = {{module, {"eager@py", {}, ""}, {0, 1}},
                                            {program, {"eager@py", {}, ""}, {0, 1}}};
  const std::vector<ulpfuzz::Run> runs = one_host().run(requests);
  EXPECT_TRUE(runs[0].completed()) << runs[0].exception_message;
  EXPECT_EQ(module.wrt.empty(), !c.module->gradients);
  std::vector<Fact> facts;
  capture_facts(runs[0], runs[1], "", facts);
  return facts;
}

TEST(Modules, CapturesAreTheModulesToTheBit) {
  const char* asked = std::getenv("ULPFUZZ_MODULE_CASES");
  const int wanted = asked != nullptr ? std::atoi(asked) : 2;
  for (const char* name : {"transformers.Qwen2ForCausalLM", "transformers.LlamaForCausalLM",
                           "transformers.Phi3ForCausalLM", "litgpt.GPT"}) {
    for (int seed = 0; seed < wanted; ++seed) {
      const Case c = draw(name, static_cast<std::uint64_t>(seed));
      SCOPED_TRACE(to_json(c));
      const std::vector<Fact> facts = mismatches(c, "");
      for (const Fact& fact : facts) ADD_FAILURE() << fact.detail;
    }
  }
}

// The parameters are those of a program that a user would write, and are not the ones that the case
// has without library_init.
TEST(Modules, TheLibraryDrawsParametersUnderTheSeed) {
  Case c = case_from_json(R"({"ulpfuzz": 1, "environment": {}, "module": {
      "module": "transformers.Qwen2ForCausalLM", "length": 7, "labels": true, "seed": "5",
      "dtype": "bfloat16", "library_init": true, "config": {"num_hidden_layers": 1,
      "num_attention_heads": 2, "num_key_value_heads": 1, "hidden_size": 16,
      "intermediate_size": 8, "vocab_size": 5, "max_position_embeddings": 16}}})",
                          "test");
  for (const Fact& fact : mismatches(c, "")) ADD_FAILURE() << fact.detail;
  const auto embedding = [](const Case& captured) {
    for (std::size_t i = 0; i < captured.inputs.size(); ++i) {
      const ProgramInput& input = captured.program.inputs[i];
      if (input.name != "model_embed_tokens_weight") continue;
      return generate(captured.inputs[i].fill, input.dtype, {5, 16}).reals;
    }
    return std::vector<double>();
  };
  const Output user = run_program({python(), "-c", R"(
import torch, transformers
torch.manual_seed(5)
config = transformers.Qwen2Config(
    num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, hidden_size=16,
    intermediate_size=8, vocab_size=5, max_position_embeddings=16)
module = transformers.Qwen2ForCausalLM(config).to(torch.bfloat16)
print(module.model.embed_tokens.weight.double().flatten().tolist())
)"});
  ASSERT_EQ(user.status, 0) << user.err;
  EXPECT_EQ(embedding(capture(c, one_host())),
            nlohmann::json::parse(user.out).get<std::vector<double>>());
  c.module->library_init = false;
  EXPECT_NE(embedding(capture(c, one_host())),
            nlohmann::json::parse(user.out).get<std::vector<double>>());
}

TEST(Modules, ACaptureWithAPlantedFaultIsSeen) {
  const Case c = case_from_json(R"({"ulpfuzz": 1, "environment": {}, "module": {
      "module": "litgpt.GPT", "length": 7, "labels": true, "config": {"n_layer": 1, "n_head": 2,
      "head_size": 8, "n_embd": 16, "block_size": 16, "vocab_size": 5, "padded_vocab_size": 5}}})",
                                "");
  EXPECT_TRUE(mismatches(c, "").empty());
  EXPECT_FALSE(mismatches(c, "capture-scales-attention").empty());
}

TEST(Modules, WhatTheLibraryRefusesIsAnErrorOfTheCase) {
  Case c = read_case("corpus/qwen2-module.json");
  c.module->config["num_key_value_heads"] = std::int64_t{3};
  try {
    capture(c, one_host());
    FAIL() << "three key heads for four query heads";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("/module: transformers.Qwen2ForCausalLM"));
  }
}

// The host has the lists again: what reached it in another way is refused there.
TEST(Modules, TheHostRefusesWhatIsNotInItsList) {
  const Output output = run_program({python(), "-c", R"(
import sys
sys.path.insert(0, 'systems/python')
import modules
for wire in ({'module': 'os', 'config': {}}, {'module': 'transformers.AutoModel', 'config': {}},
             {'module': 'litgpt.GPT', 'config': {'hf_config': {'name': 'x'}}}):
    try:
        modules.prepare(wire)
    except ValueError as error:
        print(error)
assert 'transformers' not in sys.modules and 'litgpt' not in sys.modules
)"});
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out,
            "unknown module: os\nunknown module: transformers.AutoModel\n"
            "litgpt.GPT has no field hf_config that a case may give\n");
}

// Without the fault the same case is clean: tests/e2e replays the corpus.
TEST(Modules, JudgeNamesTheCaptureAndBlamesNoSystemForIt) {
  const std::vector<std::string> arguments = {
      "judge",   "corpus/qwen2-module.json", "--systems", "eager@cpp", "--json",
      "--fault", "capture-scales-attention"};
  const auto planted = verdicts_of(ulpfuzz_run(arguments).json());
  EXPECT_EQ(planted.at("eager@py"), "capture-mismatch");
  EXPECT_EQ(planted.at("eager@cpp"), "undecided");
}

}  // namespace
}  // namespace ulpfuzz
