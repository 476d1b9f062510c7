#pragma once

#include "generators/family.h"

namespace ulpfuzz {

// transformers' Qwen2ForCausalLM (5.3.0, eager mode on a CPU, attn_implementation="sdpa", no cache,
// no attention mask): the same operators in the same order, so that the program's results are the
// module's to the bit. Outputs: the loss (with `labels`), then the logits.
const Family& qwen2_family();

// A Qwen2 configuration with its fields named as in transformers' Qwen2Config.
struct Qwen2Config {
  std::int64_t vocab_size = 1;
  std::int64_t hidden_size = 1;
  std::int64_t num_hidden_layers = 1;
  std::int64_t num_attention_heads = 1;
  std::int64_t num_key_value_heads = 1;
  std::int64_t head_dim = 2;
  std::int64_t intermediate_size = 1;
  std::int64_t max_position_embeddings = 1;
  bool tie_word_embeddings = false;
  std::int64_t pad_token_id = -1;  // -1: none
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
  double initializer_range = 0.02;
  // What is not in Qwen2Config: the call, and how the module was made.
  std::string dtype = "float32";
  std::int64_t batch = 1;
  std::int64_t length = 1;
  std::int64_t first_position = 0;
  bool rope = true;           // false: no rotary embedding at all, so head_dim may be odd
  bool cast_buffers = false;  // inv_freq went through module.to(dtype)
  bool labels = false;
  bool ignore_some = false;  // some labels are -100
  bool gradients = true;     // a backward pass, by all parameters
  std::int64_t seed = 0;     // of parameters and tokens
};

std::span<const ConfigField> qwen2_fields();
ModelConfig draw_qwen2(Random& random);
Qwen2Config read_qwen2(const ModelConfig& config);  // throws Error naming the field

}  // namespace ulpfuzz
