#include "generators/phi3.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "generators/decoder.h"

namespace ulpfuzz {
namespace {

// Writes the module's forward pass; a method for each of its classes, in the order of its source.
class Recipe : DecoderRecipe {
 public:
  explicit Recipe(const Phi3Config& config) : DecoderRecipe(config), c_(config) {}

  // GPT
  Case build() && {
    const Ref input_ids = token_input();
    if (c_.rope_n_elem() > 0) rope_cache();
    Ref x = b_.call("embedded", "embedding.default",
                    {{"weight", weight("wte_weight", {vocab_, hidden_})}, {"indices", input_ids}});
    for (std::int64_t layer = 0; layer < c_.num_hidden_layers; ++layer) {
      x = block(layer_name(layer), x);
    }
    x = rms_norm("ln_f", x);
    const Ref logits = projection("logits", "lm_head", x, {vocab_, hidden_}, false);
    std::optional<Ref> loss;
    if (c_.labels) loss = training_loss(logits);
    outputs(loss, logits, dtype_);
    return std::move(b_).take();
  }

 private:
  void rope_cache() {
    const std::int64_t size = c_.rope_n_elem();
    const Dim rows = b_.symbol("positions", c_.max_position_embeddings);
    const std::vector<double> theta = rotary_frequencies(c_.rope_theta, size);
    std::vector<double> cos, sin;
    for (std::int64_t row = 0; row < c_.max_position_embeddings; ++row) {
      for (std::int64_t i = 0; i < size; ++i) {  // the frequencies twice; the last cut off if odd
        const double angle =
            round_to(DType::kFloat32,
                     static_cast<double>(row) * theta[static_cast<std::size_t>(i) % theta.size()]);
        cos.push_back(round_to(DType::kFloat32, std::cos(angle)));
        sin.push_back(round_to(DType::kFloat32, std::sin(angle)));
      }
    }
    const auto of_tokens = [&](const std::string& name, const std::vector<double>& elements) {
      const Ref all = buffer(name, {rows, size}, elements);
      return unsqueeze(name + "_row", slice(name + "_of_tokens", all, 0, 0, length_), 0);
    };
    cos_ = of_tokens("cos", cos);
    sin_ = of_tokens("sin", sin);
  }

  // RMSNorm
  Ref rms_norm(const std::string& name, const Ref& x) {
    const Ref scale = norm_weight(name + "_weight");
    const Ref wide = to(name + "_float", x, DType::kFloat32);
    const Ref mean = mean_of_rows(name + "_mean", multiply(name + "_square", wide, wide));
    const Ref inverse = rsqrt(name + "_rsqrt", add(name + "_shifted", mean, c_.rms_norm_eps));
    const Ref normed = multiply(name + "_normed", wide, inverse);
    const Ref wide_scale = to(name + "_weight_float", scale, DType::kFloat32);
    return to(name, multiply(name + "_scaled", normed, wide_scale), dtype_);
  }

  // Block, without parallel residual.
  Ref block(const std::string& l, const Ref& x) {
    const Ref attended = add(l + "residual", attention(l, rms_norm(l + "norm_1", x)), x);
    return add(l + "output", mlp(l, rms_norm(l + "norm_2", attended)), attended);
  }

  // CausalSelfAttention
  Ref attention(const std::string& l, const Ref& x) {
    const std::int64_t groups = c_.num_key_value_heads, width = c_.head_dim;
    const std::int64_t query_size = c_.num_attention_heads * width, key_size = groups * width;
    const Ref qkv =
        projection(l + "qkv", l + "attn_qkv", x, {query_size + 2 * key_size, hidden_}, c_.bias);
    const Ref parts = b_.call(l + "qkv_parts", "split_with_sizes.default",
                              {{"self", qkv},
                               {"split_sizes", std::vector<Dim>{query_size, key_size, key_size}},
                               {"dim", Dim(-1)}});
    const Ref query = rope(l + "q", heads(l + "q", {parts.name, 0}, c_.num_attention_heads));
    Ref key = rope(l + "k", heads(l + "k", {parts.name, 1}, groups));
    Ref value = heads(l + "v", {parts.name, 2}, groups);
    if (groups != c_.num_attention_heads) {
      key = repeated(l + "k_repeated", key);
      value = repeated(l + "v_repeated", value);
    }
    std::vector<NamedArgument> args = {{"query", query}, {"key", key}, {"value", value}};
    if (c_.sliding_window_size > 0) {
      args.push_back({"attn_mask", window(l + "mask")});
    } else {
      args.push_back({"is_causal", true});
    }
    args.push_back({"scale", 1 / std::sqrt(static_cast<double>(width))});
    const Ref attended =
        b_.call(l + "attention", "scaled_dot_product_attention.default", std::move(args));
    const Ref joined = reshape(l + "attention_joined", transpose(l + "attention_rows", attended),
                               {batch_, length_, query_size});
    return projection(l + "attention_out", l + "attn_proj", joined, {hidden_, query_size}, c_.bias);
  }

  // (batch, length, count * head_size) as (batch, count, length, head_size).
  Ref heads(const std::string& name, const Ref& x, std::int64_t count) {
    return transpose(name + "_heads",
                     reshape(name + "_split", x, {batch_, length_, count, c_.head_dim}));
  }

  // apply_rope of the first elements; the others are put behind them, even when there are none.
  Ref rope(const std::string& name, const Ref& x) {
    const std::int64_t size = c_.rope_n_elem();
    std::vector<Ref> parts;
    if (size > 0) {
      const Ref turned = slice(name + "_turned", x, 3, 0, size);
      const std::vector<Dim> shape{1, 1, length_, size};
      const Ref cos = reshape(name + "_cos", cos_, shape),
                sin = reshape(name + "_sin", sin_, shape);
      parts.push_back(
          to(name + "_roped", rotate(name, "_roped_wide", turned, size, cos, sin), dtype_));
    }
    parts.push_back(slice(name + "_kept", x, 3, size, c_.head_dim));
    return cat(name + "_rope", std::move(parts));
  }

  // A head of keys or values for each query head.
  Ref repeated(const std::string& name, const Ref& x) {
    const Dim repeats(c_.num_attention_heads / c_.num_key_value_heads);
    return b_.call(name, "repeat_interleave.self_int",
                   {{"self", x}, {"repeats", repeats}, {"dim", Dim(1)}});
  }

  // 0 where a token sees another, else -inf: written row by row, as the library does.
  Ref window(const std::string& name) {
    const Ref mask = b_.call(name, "full.default",
                             {{"size", std::vector<Dim>{length_, length_}},
                              {"fill_value", Scalar{-std::numeric_limits<double>::infinity()}},
                              {"dtype", dtype_}});
    for (std::int64_t i = 0; i < c_.length; ++i) {
      const std::string row_name = name + "_row" + std::to_string(i);
      const Ref row =
          b_.call(row_name, "select.int", {{"self", mask}, {"dim", Dim(0)}, {"index", Dim(i)}});
      const std::int64_t start = std::max<std::int64_t>(0, i - c_.sliding_window_size + 1);
      b_.call(row_name + "_filled", "fill_.Scalar",
              {{"self", slice(row_name + "_seen", row, 0, start, i + 1)}, {"value", Scalar{0.0}}});
    }
    return reshape(name + "_heads", mask, {1, 1, length_, length_});
  }

  // LLaMAMLP
  Ref mlp(const std::string& l, const Ref& x) {
    const std::vector<Dim> widen{intermediate_, hidden_};
    const Ref first = projection(l + "fc_1", l + "mlp_fc_1", x, widen, c_.bias);
    const Ref second = projection(l + "fc_2", l + "mlp_fc_2", x, widen, c_.bias);
    const Ref gated = multiply(l + "gated", silu(l + "fc_1_silu", first), second);
    return projection(l + "mlp", l + "mlp_proj", gated, {hidden_, intermediate_}, c_.bias);
  }

  // Of all tokens at once (chunked_cross_entropy with chunk_size=0), in the module's dtype.
  Ref training_loss(const Ref& logits) {
    const Ref labels = label_input();
    if (!c_.reshape_loss) {
      return cross_entropy("loss", transpose("logits_classes", logits), labels);
    }
    const Ref rows = reshape("logits_rows", logits, {-1, vocab_});
    return cross_entropy("loss", rows, reshape("targets", labels, {-1}));
  }

  const Phi3Config& c_;
  Ref cos_, sin_;  // (1, length, rope_n_elem)
};

Case build_phi3(const ModelConfig& model) {
  const Phi3Config config = read_phi3(model);
  Case c = Recipe(config).build();
  c.model = model;
  return c;
}

}  // namespace

const Family& phi3_family() {
  static const Family family{"phi3", phi3_fields(), draw_phi3, build_phi3};
  return family;
}

}  // namespace ulpfuzz
