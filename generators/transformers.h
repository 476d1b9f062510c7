#pragma once

#include <vector>

#include "generators/decoder_config.h"
#include "ir/case.h"

namespace ulpfuzz {

// What the families of transformers (5.3.0) share: their modelling files are made from each other.
struct TransformersConfig : DecoderConfig {
  bool tie_word_embeddings = false;
  std::int64_t pad_token_id = -1;  // -1: none
  // What is not in the library's configuration.
  std::int64_t first_position = 0;
  bool rope = true;  // false: no rotary embedding at all, so head_dim may be odd
};

// Where the families differ.
struct TransformersDecoder {
  bool qkv_bias = false;         // of q_proj, k_proj, v_proj
  bool output_bias = false;      // of o_proj
  bool mlp_bias = false;         // of gate_proj, up_proj, down_proj
  std::vector<double> inv_freq;  // head_dim / 2, in float32; with rope
};

// The program of ...ForCausalLM in eager mode on a CPU (attn_implementation="sdpa", no cache, no
// attention mask): the same operators in the same order, so that the program's results are the
// module's to the bit. Outputs: the loss (with `labels`), then the logits.
Case build_transformers(const TransformersConfig& config, const TransformersDecoder& decoder);

void draw_transformers(Random& random, TransformersConfig& c);

// The fields that all have, for a table of C, which derives from TransformersConfig or is it.
template <class C>
std::vector<ConfigEntry<C>> transformers_fields() {
  constexpr auto number = [](std::int64_t value) { return value; };
  return {
      {{"batch", number(1), "sequences"}, &C::batch},
      {{"length", number(1), "tokens of a sequence"}, &C::length},
      {{"num_hidden_layers", number(1), "decoder layers"}, &C::num_hidden_layers},
      {{"num_attention_heads", number(1), "query heads, a multiple of num_key_value_heads"},
       &C::num_attention_heads},
      {{"num_key_value_heads", number(1), "key and value heads"}, &C::num_key_value_heads},
      {{"head_dim", number(2), "size of a head; even with rope"}, &C::head_dim},
      {{"hidden_size", number(1), "size of the residual stream"}, &C::hidden_size},
      {{"intermediate_size", number(1), "size within the MLP"}, &C::intermediate_size},
      {{"vocab_size", number(1), "tokens that there are"}, &C::vocab_size},
      {{"max_position_embeddings", number(1), "positions that there are"},
       &C::max_position_embeddings},
      {{"first_position", number(0), "position of the first token"}, &C::first_position},
      {{"labels", false, "the loss is an output too, and gradients come from it"}, &C::labels},
      {{"ignore_some", false, "some labels are -100, which the loss leaves out"}, &C::ignore_some},
      {{"gradients", false, "a backward pass, by all parameters"}, &C::gradients},
      {{"rope", false, "rotary embedding of queries and keys"}, &C::rope},
      {{"tie_word_embeddings", false, "the output projection is the embedding"},
       &C::tie_word_embeddings},
      {{"cast_buffers", false, "inv_freq was rounded to dtype, as module.to(dtype) does"},
       &C::cast_buffers},
      {{"pad_token_id", number(-1), "token whose embedding gets no gradient; -1: none"},
       &C::pad_token_id},
      {{"rms_norm_eps", 1e-6, "added to the mean square"}, &C::rms_norm_eps},
      {{"rope_theta", 10000.0, "base of the rotary frequencies"}, &C::rope_theta},
      {{"initializer_range", 0.02, "standard deviation of the weights"}, &C::initializer_range},
      {{"dtype", std::string("float32"), "of parameters and activations"}, &C::dtype},
      {{"seed", number(0), "of parameters and tokens"}, &C::seed},
  };
}

// Throws Error naming the field whose value does not go with the others.
template <class C>
void check_transformers(const ConfigTable<C>& table, const C& c) {
  check_decoder(table, c);
  table.at_least(c, &C::length, c.labels ? 2 : 1);  // the last token has no label
  table.at_least(c, &C::first_position, 0);
  if (c.rope && c.head_dim % 2 != 0) {
    table.refuse(&C::head_dim,
                 "must be even, as rotary embedding turns pairs; or set rope to false");
  }
  if (c.first_position + c.length > c.max_position_embeddings) {
    table.refuse(&C::max_position_embeddings, "must be at least first_position + length");
  }
  if (c.pad_token_id < -1 || c.pad_token_id >= c.vocab_size) {
    table.refuse(&C::pad_token_id, "must be a token, or -1");
  }
}

}  // namespace ulpfuzz
