#include "generators/modules.h"

#include <cstdint>
#include <vector>

namespace ulpfuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Heads {
  std::int64_t queries, keys, size;
};

Heads draw_heads(Random& random) {
  const std::int64_t keys = random.pick(Sizes{1, 2, 2, 3});
  return {keys * random.pick(Sizes{1, 2, 2, 4}), keys, random.pick(Sizes{2, 4, 8, 10, 16, 32})};
}

void draw_decoder(Random& random, ModuleConfig& module, bool has_head_dim) {
  const Heads heads = draw_heads(random);
  auto& config = module.config;
  config["num_hidden_layers"] = random.pick(Sizes{1, 1, 2});
  config["num_attention_heads"] = heads.queries;
  config["num_key_value_heads"] = heads.keys;
  config["hidden_size"] = heads.queries * heads.size;
  if (has_head_dim && random.chance(0.5)) {
    config["head_dim"] = heads.size;
    config["hidden_size"] = random.pick(Sizes{7, 16, 33});
  }
  config["intermediate_size"] = random.pick(Sizes{1, 16, 33, 65});
  config["max_position_embeddings"] = std::int64_t{64};
  config["vocab_size"] = random.pick(Sizes{2, 11, 65});
  config["initializer_range"] = random.pick(std::vector<double>{0.02, 0.2, 0.5});
  config["tie_word_embeddings"] = random.chance(0.3);
  if (random.chance(0.2)) config["pad_token_id"] = std::int64_t{1};
  if (random.chance(0.3)) config["rope_theta"] = 500.0;
  if (random.chance(0.3)) config["hidden_act"] = std::string("gelu_pytorch_tanh");
  if (random.chance(0.25)) config["attn_implementation"] = std::string("eager");
}

void draw_gpt(Random& random, ModuleConfig& module) {
  const Heads heads = draw_heads(random);
  auto& config = module.config;
  config["n_layer"] = random.pick(Sizes{1, 1, 2});
  config["n_head"] = heads.queries;
  config["n_query_groups"] = heads.keys;
  config["head_size"] = heads.size;
  config["n_embd"] = random.pick(Sizes{8, 24, 33});
  config["intermediate_size"] = random.pick(Sizes{1, 16, 33});
  config["vocab_size"] = random.pick(Sizes{2, 11, 65});
  config["padded_vocab_size"] = std::int64_t{65};
  config["block_size"] = std::int64_t{64};
  config["rotary_percentage"] = random.pick(std::vector<double>{1, 1, 0.5});
  config["norm_class_name"] = std::string(random.chance(0.7) ? "RMSNorm" : "LayerNorm");
  config["mlp_class_name"] =
      random.pick(std::vector<std::string>{"LLaMAMLP", "LLaMAMLP", "GptNeoxMLP", "GemmaMLP"});
  for (const char* flag : {"bias", "attn_bias", "parallel_residual", "norm_qk", "lm_head_bias"}) {
    config[flag] = random.chance(0.3);
  }
  if (random.chance(0.25)) config["sliding_window_size"] = random.integer(1, 8);
}

}  // namespace

ModuleConfig draw_module(Random& random, const std::string& name) {
  ModuleConfig module;
  module.module = name;
  const bool phi3 = name.find("Phi3") != name.npos;  // has no head_dim of its own
  if (name == "litgpt.GPT") {
    draw_gpt(random, module);
  } else {
    draw_decoder(random, module, !phi3);
  }
  if (phi3 && random.chance(0.2)) module.config["sliding_window"] = random.integer(1, 8);
  module.dtype = random.pick(std::vector<std::string>{"float32", "bfloat16", "float16"});
  module.batch = random.integer(1, 2);
  module.labels = random.chance(0.6);
  module.length = random.pick(Sizes{2, 7, 16, 17});
  module.gradients = random.chance(0.85);
  module.seed = random.bits();
  return module;
}

}  // namespace ulpfuzz
