#include <utility>
#include <vector>

#include "generators/phi3.h"

namespace ulpfuzz {
namespace {

const ConfigTable<Phi3Config>& table() {
  using C = Phi3Config;
  constexpr auto number = [](std::int64_t value) { return value; };
  static const ConfigTable<C> table(
      "phi3",
      {
          {{"batch", number(1), "sequences"}, &C::batch},
          {{"length", number(1), "tokens of a sequence"}, &C::length},
          {{"n_layer", number(1), "decoder layers"}, &C::num_hidden_layers},
          {{"n_head", number(1), "query heads, a multiple of n_query_groups"},
           &C::num_attention_heads},
          {{"n_query_groups", number(1), "key and value heads"}, &C::num_key_value_heads},
          {{"head_size", number(1), "size of a head"}, &C::head_dim},
          {{"n_embd", number(1), "size of the residual stream"}, &C::hidden_size},
          {{"intermediate_size", number(1), "size within the MLP"}, &C::intermediate_size},
          {{"padded_vocab_size", number(1), "tokens that there are"}, &C::vocab_size},
          {{"max_seq_length", number(1), "positions that cos and sin are made for"},
           &C::max_position_embeddings},
          {{"sliding_window_size", number(0), "how far back a token sees; 0: all, without a mask"},
           &C::sliding_window_size},
          {{"labels", false, "the loss is an output too, and gradients come from it"}, &C::labels},
          {{"ignore_some", false, "some labels are -100, which the loss leaves out"},
           &C::ignore_some},
          {{"gradients", false, "a backward pass, by all parameters"}, &C::gradients},
          {{"bias", false, "biases of all projections but lm_head"}, &C::bias},
          {{"reshape_loss", true,
            "the loss is of (batch * length, vocab); or of a transposed view"},
           &C::reshape_loss},
          {{"cast_buffers", false, "cos and sin were rounded to dtype, as module.to(dtype) does"},
           &C::cast_buffers},
          {{"rotary_percentage", 0.0, "of a head's elements that are turned"},
           &C::rotary_percentage},
          {{"norm_eps", 1e-6, "added to the mean square"}, &C::rms_norm_eps},
          {{"rope_base", 10000.0, "base of the rotary frequencies"}, &C::rope_theta},
          {{"initializer_range", 0.02, "standard deviation of the weights"}, &C::initializer_range},
          {{"dtype", std::string("float32"), "of parameters and activations"}, &C::dtype},
          {{"seed", number(0), "of parameters and tokens"}, &C::seed},
      });
  return table;
}

void check(const Phi3Config& c) {
  using C = Phi3Config;
  check_decoder(table(), c);
  table().at_least(c, &C::sliding_window_size, 0);
  if (!(c.rotary_percentage >= 0 && c.rotary_percentage <= 1)) {
    table().refuse(&C::rotary_percentage, "must be in [0, 1]");
  }
  if (c.rope_n_elem() == 1) {  // cos and sin have two columns then, and heads grow by one
    table().refuse(&C::rotary_percentage, "must not leave a single element of head_size to turn");
  }
  if (c.length > c.max_position_embeddings) {
    table().refuse(&C::max_position_embeddings, "must be at least length");
  }
}

}  // namespace

std::int64_t Phi3Config::rope_n_elem() const {
  return static_cast<std::int64_t>(rotary_percentage * static_cast<double>(head_dim));
}

std::span<const ConfigField> phi3_fields() { return table().fields(); }

ModelConfig draw_phi3(Random& random) {
  Phi3Config c;
  draw_head_counts(random, c);
  draw_head_dim(random, c, random.chance(0.7));
  draw_sizes(random, c);
  c.rotary_percentage = random.pick(std::vector<double>{1, 1, 1, 1, 0.75, 0.5, 0.4, 0.25, 0});
  if (c.rope_n_elem() == 1) c.rotary_percentage = c.head_dim == 1 ? 0 : 1;
  c.max_position_embeddings = c.length;  // LitGPT cuts it to the longest sequence
  if (random.chance(0.2)) c.max_position_embeddings += random.integer(1, 33);
  // The mask is written row by row, so a long one makes a long program.
  if (c.length <= 33 && random.chance(0.4)) {
    c.sliding_window_size = random.integer(1, c.length + 1);
  }
  c.bias = random.chance(0.2);
  c.reshape_loss = random.chance(0.7);
  c.cast_buffers = random.chance(0.7);
  draw_numbers(random, c);
  return table().write(c);
}

Phi3Config read_phi3(const ModelConfig& model) {
  const Phi3Config c = table().read(model);
  check(c);
  return c;
}

}  // namespace ulpfuzz
