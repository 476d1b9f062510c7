#include "generators/transformers.h"

#include <cmath>
#include <utility>

#include "generators/decoder.h"

namespace ulpfuzz {
namespace {

// Writes the module's forward pass; a method for each of its classes, in the order of its source.
// What is said of RMSNorm here goes for Qwen2RMSNorm and the like.
class Recipe : DecoderRecipe {
 public:
  Recipe(const TransformersConfig& config, const TransformersDecoder& decoder)
      : DecoderRecipe(config), c_(config), decoder_(decoder) {}

  Case build() && {
    const Ref input_ids = token_input();
    const Ref embedding = weight("embed_tokens_weight", {vocab_, hidden_});
    Ref hidden = embed(embedding, input_ids);
    if (c_.rope) rotary_embedding();
    for (std::int64_t layer = 0; layer < c_.num_hidden_layers; ++layer) {
      hidden = decoder_layer(layer_name(layer), hidden);
    }
    hidden = rms_norm("final_norm", hidden);
    const Ref head =
        c_.tie_word_embeddings ? embedding : weight("lm_head_weight", {vocab_, hidden_});
    const Ref logits = linear("logits", hidden, head);
    std::optional<Ref> loss;
    if (c_.labels) loss = causal_loss(logits);
    outputs(loss, logits, DType::kFloat32);
    return std::move(b_).take();
  }

 private:
  Ref embed(const Ref& embedding, const Ref& input_ids) {
    std::vector<NamedArgument> args = {{"weight", embedding}, {"indices", input_ids}};
    if (c_.pad_token_id >= 0) args.push_back({"padding_idx", Dim(c_.pad_token_id)});
    return b_.call("inputs_embeds", "embedding.default", std::move(args));
  }

  // RotaryEmbedding: in float32 whatever the dtype.
  void rotary_embedding() {
    Fill arange;
    arange.kind = Fill::Kind::kArange;
    arange.shift = static_cast<double>(c_.first_position);
    const Ref positions = b_.input("position_ids", DType::kInt64, {1, length_}, arange);
    const Ref inv_freq = buffer("inv_freq", {c_.head_dim / 2}, decoder_.inv_freq);
    Ref column = unsqueeze("inv_freq_row", inv_freq, 0);
    column = to("inv_freq_float", unsqueeze("inv_freq_column", column, 2), DType::kFloat32);
    column = b_.call("inv_freq_expanded", "expand.default",
                     {{"self", column}, {"size", std::vector<Dim>{1, -1, 1}}});
    const Ref row =
        to("positions_float", unsqueeze("positions_row", positions, 1), DType::kFloat32);
    const Ref product = b_.call("angles", "matmul.default", {{"self", column}, {"other", row}});
    const Ref freqs = transpose("freqs", product);
    const Ref emb = cat("rope_angles", {freqs, freqs});
    const Ref cos = multiply("cos_scaled", b_.call("cos", "cos.default", {{"self", emb}}), 1.0);
    const Ref sin = multiply("sin_scaled", b_.call("sin", "sin.default", {{"self", emb}}), 1.0);
    cos_ = to("rope_cos", cos, dtype_);
    sin_ = to("rope_sin", sin, dtype_);
  }

  // RMSNorm
  Ref rms_norm(const std::string& name, const Ref& x) {
    const Ref scale = norm_weight(name + "_weight");
    const Ref wide = to(name + "_float", x, DType::kFloat32);
    const Ref square = b_.call(name + "_square", "pow.Tensor_Scalar",
                               {{"self", wide}, {"exponent", Scalar{std::int64_t{2}}}});
    const Ref variance = mean_of_rows(name + "_variance", square);
    const Ref inverse = rsqrt(name + "_rsqrt", add(name + "_shifted", variance, c_.rms_norm_eps));
    const Ref normed = to(name + "_normed", multiply(name + "_scaled", wide, inverse), dtype_);
    return multiply(name, scale, normed);
  }

  // Attention with the sdpa interface.
  Ref attention(const std::string& l, const Ref& x) {
    Ref query = heads(l + "q", x, c_.num_attention_heads);
    Ref key = heads(l + "k", x, c_.num_key_value_heads);
    const Ref value = heads(l + "v", x, c_.num_key_value_heads);
    if (c_.rope) {
      const Ref cos = unsqueeze(l + "cos", cos_, 1), sin = unsqueeze(l + "sin", sin_, 1);
      query = rotate(l + "q", "_rope", query, c_.head_dim, cos, sin);
      key = rotate(l + "k", "_rope", key, c_.head_dim, cos, sin);
    }
    const Ref attended = b_.call(l + "attention", "scaled_dot_product_attention.default",
                                 {{"query", query},
                                  {"key", key},
                                  {"value", value},
                                  {"is_causal", c_.length > 1},
                                  {"scale", std::pow(static_cast<double>(c_.head_dim), -0.5)},
                                  {"enable_gqa", true}});
    const Ref dense = b_.call(l + "attention_dense", "contiguous.default",
                              {{"self", transpose(l + "attention_rows", attended)}});
    const Ref joined = reshape(l + "attention_joined", dense, {batch_, length_, -1});
    return projection(l + "attention_out", l + "o_proj", joined,
                      {hidden_, c_.num_attention_heads * c_.head_dim}, decoder_.output_bias);
  }

  // q_proj and the like, then heads apart: (batch, heads, length, head_dim).
  Ref heads(const std::string& name, const Ref& x, std::int64_t count) {
    const Ref projected = projection(name + "_proj", name + "_proj", x,
                                     {count * c_.head_dim, hidden_}, decoder_.qkv_bias);
    return transpose(name + "_heads",
                     reshape(name + "_split", projected, {batch_, length_, -1, c_.head_dim}));
  }

  // MLP
  Ref mlp(const std::string& l, const Ref& x) {
    const std::vector<Dim> widen{intermediate_, hidden_}, narrow{hidden_, intermediate_};
    const Ref gate = projection(l + "gate", l + "gate_proj", x, widen, decoder_.mlp_bias);
    const Ref active = silu(l + "gate_silu", gate);
    const Ref up = projection(l + "up", l + "up_proj", x, widen, decoder_.mlp_bias);
    return projection(l + "mlp", l + "down_proj", multiply(l + "gated", active, up), narrow,
                      decoder_.mlp_bias);
  }

  // DecoderLayer
  Ref decoder_layer(const std::string& l, const Ref& x) {
    const Ref attended = add(l + "residual", x, attention(l, rms_norm(l + "input_norm", x)));
    return add(l + "output", attended, mlp(l, rms_norm(l + "post_attention_norm", attended)));
  }

  // ForCausalLMLoss: labels move one place to the left, and the last one is ignored.
  Ref causal_loss(const Ref& logits) {
    const Ref labels = label_input();
    const Ref wide = to("logits_float", logits, DType::kFloat32);
    const Ref padded = b_.call(
        "labels_padded", "constant_pad_nd.default",
        {{"self", labels}, {"pad", std::vector<Dim>{0, 1}}, {"value", Scalar{kIgnoredLabel}}});
    const Ref next = b_.call("labels_next", "contiguous.default",
                             {{"self", slice("labels_shifted", padded, 1, 1, length_ + Dim(1))}});
    const Ref rows = reshape("logits_rows", wide, {-1, vocab_});
    return cross_entropy("loss", rows, reshape("targets", next, {-1}));
  }

  const TransformersConfig& c_;
  const TransformersDecoder& decoder_;
  Ref cos_, sin_;
};

}  // namespace

Case build_transformers(const TransformersConfig& config, const TransformersDecoder& decoder) {
  return Recipe(config, decoder).build();
}

void draw_transformers(Random& random, TransformersConfig& c) {
  draw_head_counts(random, c);
  c.rope = random.chance(0.88);
  draw_head_dim(random, c, c.rope);
  draw_sizes(random, c);
  c.max_position_embeddings = random.pick(std::vector<std::int64_t>{128, 256, 2048, 32768});
  if (random.chance(0.2)) {
    c.first_position = random.integer(0, c.max_position_embeddings - c.length);
  }
  c.tie_word_embeddings = random.chance(0.3);
  c.cast_buffers = random.chance(0.2);
  if (random.chance(0.15)) c.pad_token_id = random.integer(0, c.vocab_size - 1);
  draw_numbers(random, c);
}

}  // namespace ulpfuzz
