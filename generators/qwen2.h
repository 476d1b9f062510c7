#pragma once

#include "generators/family.h"
#include "generators/transformers.h"

namespace ulpfuzz {

// transformers' Qwen2ForCausalLM: biases of queries, keys and values, and of nothing else.
const Family& qwen2_family();

using Qwen2Config = TransformersConfig;

Qwen2Config read_qwen2(const ModelConfig& config);  // throws Error naming the field

}  // namespace ulpfuzz
