#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "generators/config_table.h"
#include "generators/draw.h"
#include "ir/dtype.h"

namespace ulpfuzz {

// What every decoder-only model here has. The members are named as in transformers' configurations;
// the fields of a family are named as its own library names them.
struct DecoderConfig {
  std::int64_t vocab_size = 1;
  std::int64_t hidden_size = 1;
  std::int64_t num_hidden_layers = 1;
  std::int64_t num_attention_heads = 1;
  std::int64_t num_key_value_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t intermediate_size = 1;
  std::int64_t max_position_embeddings = 1;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
  double initializer_range = 0.02;
  // What is in no library's configuration: the call, and how the module was made.
  std::string dtype = "float32";
  std::int64_t batch = 1;
  std::int64_t length = 1;
  bool cast_buffers = false;  // the buffers of the rotary embedding went through module.to(dtype)
  bool labels = false;
  bool ignore_some = false;  // some labels are -100
  bool gradients = true;     // a backward pass, by all parameters
  std::int64_t seed = 0;     // of parameters and tokens
};

// Query and key heads: one of each, groups, or as many of one as of the other.
void draw_head_counts(Random& random, DecoderConfig& c);

// `even`: for a rotary embedding that turns pairs. Else mostly odd. After draw_head_counts.
void draw_head_dim(Random& random, DecoderConfig& c, bool even);

// Layers, sizes, tokens, labels, and whether there is a backward pass. After draw_head_dim.
void draw_sizes(Random& random, DecoderConfig& c);

// Epsilon, rotary base, scale of the weights, dtype, seed.
void draw_numbers(Random& random, DecoderConfig& c);

// Throws Error naming the field that is out of range.
template <class C>
void check_decoder(const ConfigTable<C>& table, const C& c) {
  for (const auto size : {&C::batch, &C::length, &C::num_hidden_layers, &C::num_key_value_heads,
                          &C::num_attention_heads, &C::head_dim, &C::hidden_size,
                          &C::intermediate_size, &C::vocab_size}) {
    table.at_least(c, size, 1);
  }
  if (c.num_attention_heads % c.num_key_value_heads != 0) {
    table.refuse(&C::num_attention_heads,
                 "must be a multiple of " + std::string(table.name(&C::num_key_value_heads)));
  }
  const std::optional<DType> dtype = parse_dtype(c.dtype);
  if (!dtype || !is_floating(*dtype)) table.refuse(&C::dtype, "must be a floating type");
}

}  // namespace ulpfuzz
