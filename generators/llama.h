#pragma once

#include "generators/family.h"
#include "generators/transformers.h"

namespace ulpfuzz {

// transformers' LlamaForCausalLM: biases everywhere in attention or nowhere, likewise in the MLP,
// and frequencies that may be scaled for contexts longer than those trained on.
const Family& llama_family();

struct LlamaConfig : TransformersConfig {
  bool attention_bias = false;
  bool mlp_bias = false;
  // rope_parameters of the library's configuration.
  std::string rope_type = "default";  // or "llama3", which the next four belong to
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
};

LlamaConfig read_llama(const ModelConfig& config);  // throws Error naming the field

// inv_freq of the library's "llama3" scaling, rounded at the places where its float32 expressions
// round: wavelengths within the context first trained on stay, those of many contexts are divided
// by `factor`, and between the two there is a ramp.
std::vector<double> llama3_frequencies(const LlamaConfig& config);

}  // namespace ulpfuzz
