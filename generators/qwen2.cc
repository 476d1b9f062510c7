#include "generators/qwen2.h"

#include <cmath>
#include <utility>

#include "generators/build.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kIgnored = -100;  // the loss leaves out labels of this value

// FNV-1a, so that an input keeps its elements when other inputs come or go.
std::uint64_t hash_name(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::string layer_name(std::int64_t layer) { return "layer" + std::to_string(layer) + "_"; }

// Writes the module's forward pass; a method for each of its classes, in the order of its source.
class Recipe {
 public:
  explicit Recipe(const Qwen2Config& config)
      : c_(config),
        dtype_(*parse_dtype(config.dtype)),
        batch_(b_.symbol("batch", config.batch)),
        length_(b_.symbol("length", config.length)),
        hidden_(b_.symbol("hidden", config.hidden_size)),
        intermediate_(b_.symbol("intermediate", config.intermediate_size)),
        vocab_(b_.symbol("vocab", config.vocab_size)) {}

  Case build() && {
    const Ref input_ids = b_.input("input_ids", DType::kInt64, {batch_, length_}, tokens("ids"));
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
    if (c_.labels) {
      b_.output(causal_loss(logits), cotangent_of_loss());
      b_.output(logits);
    } else {
      b_.output(logits, cotangent_of_logits());
    }
    return std::move(b_).take();
  }

 private:
  Ref embed(const Ref& embedding, const Ref& input_ids) {
    std::vector<NamedArgument> args = {{"weight", embedding}, {"indices", input_ids}};
    if (c_.pad_token_id >= 0) args.push_back({"padding_idx", Dim(c_.pad_token_id)});
    return b_.call("inputs_embeds", "embedding.default", std::move(args));
  }

  // Qwen2RotaryEmbedding: in float32 whatever the dtype.
  void rotary_embedding() {
    const Ref positions = b_.input("position_ids", DType::kInt64, {1, length_}, position_fill());
    const DType kept = c_.cast_buffers ? dtype_ : DType::kFloat32;
    const Ref inv_freq = b_.input("inv_freq", kept, {c_.head_dim / 2}, frequencies(kept));
    Ref column = unsqueeze("inv_freq_row", inv_freq, 0);
    column = to("inv_freq_float", unsqueeze("inv_freq_column", column, 2), DType::kFloat32);
    column = b_.call("inv_freq_expanded", "expand.default",
                     {{"self", column}, {"size", std::vector<Dim>{1, -1, 1}}});
    const Ref row =
        to("positions_float", unsqueeze("positions_row", positions, 1), DType::kFloat32);
    const Ref product = b_.call("angles", "matmul.default", {{"self", column}, {"other", row}});
    const Ref freqs = transpose("freqs", product);
    const Ref emb = cat("rope_angles", freqs, freqs);
    const Ref cos = times("cos_scaled", b_.call("cos", "cos.default", {{"self", emb}}), 1.0);
    const Ref sin = times("sin_scaled", b_.call("sin", "sin.default", {{"self", emb}}), 1.0);
    cos_ = to("rope_cos", cos, dtype_);
    sin_ = to("rope_sin", sin, dtype_);
  }

  // rotate_half and apply_rotary_pos_emb, for one of queries and keys.
  Ref rotary(const std::string& name, const Ref& x, const Ref& cos, const Ref& sin) {
    const std::int64_t half = c_.head_dim / 2;
    const Ref kept = multiply(name + "_times_cos", x, cos);
    const Ref low = slice(name + "_low", x, 3, 0, half);
    const Ref high = slice(name + "_high", x, 3, half, c_.head_dim);
    const Ref negated = b_.call(name + "_negated", "neg.default", {{"self", high}});
    const Ref turned = multiply(name + "_times_sin", cat(name + "_rotated", negated, low), sin);
    return add(name + "_rope", kept, turned);
  }

  // Qwen2RMSNorm
  Ref rms_norm(const std::string& name, const Ref& x) {
    Fill fill = normal(name + "_weight", 0.1);
    fill.shift = 1;
    const Ref scale = b_.parameter(name + "_weight", dtype_, {hidden_}, fill);
    const Ref wide = to(name + "_float", x, DType::kFloat32);
    const Ref square = b_.call(name + "_square", "pow.Tensor_Scalar",
                               {{"self", wide}, {"exponent", Scalar{std::int64_t{2}}}});
    const Ref variance =
        b_.call(name + "_variance", "mean.dim",
                {{"self", square}, {"dim", std::vector<Dim>{-1}}, {"keepdim", true}});
    const Ref shifted = b_.call(name + "_shifted", "add.Tensor",
                                {{"self", variance}, {"other", Scalar{c_.rms_norm_eps}}});
    const Ref inverse = b_.call(name + "_rsqrt", "rsqrt.default", {{"self", shifted}});
    const Ref normed = to(name + "_normed", multiply(name + "_scaled", wide, inverse), dtype_);
    return multiply(name, scale, normed);
  }

  // Qwen2Attention with the sdpa interface.
  Ref attention(const std::string& l, const Ref& x) {
    Ref query = heads(l + "q", x, c_.num_attention_heads);
    Ref key = heads(l + "k", x, c_.num_key_value_heads);
    const Ref value = heads(l + "v", x, c_.num_key_value_heads);
    if (c_.rope) {
      const Ref cos = unsqueeze(l + "cos", cos_, 1), sin = unsqueeze(l + "sin", sin_, 1);
      query = rotary(l + "q", query, cos, sin);
      key = rotary(l + "k", key, cos, sin);
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
    const Ref joined = b_.call(l + "attention_joined", "reshape.default",
                               {{"self", dense}, {"shape", std::vector<Dim>{batch_, length_, -1}}});
    return linear(l + "attention_out", joined,
                  weight(l + "o_proj_weight", {hidden_, c_.num_attention_heads * c_.head_dim}));
  }

  // q_proj and the like, then heads apart: (batch, heads, length, head_dim).
  Ref heads(const std::string& name, const Ref& x, std::int64_t count) {
    const Dim width = count * c_.head_dim;
    const Ref matrix = weight(name + "_proj_weight", {width, hidden_});
    const Ref bias = weight(name + "_proj_bias", {width});
    const Ref projected = b_.call(name + "_proj", "linear.default",
                                  {{"input", x}, {"weight", matrix}, {"bias", bias}});
    const Ref split = b_.call(
        name + "_split", "reshape.default",
        {{"self", projected}, {"shape", std::vector<Dim>{batch_, length_, -1, c_.head_dim}}});
    return transpose(name + "_heads", split);
  }

  // Qwen2MLP
  Ref mlp(const std::string& l, const Ref& x) {
    const Ref gate =
        linear(l + "gate", x, weight(l + "gate_proj_weight", {intermediate_, hidden_}));
    const Ref active = b_.call(l + "gate_silu", "silu.default", {{"self", gate}});
    const Ref up = linear(l + "up", x, weight(l + "up_proj_weight", {intermediate_, hidden_}));
    return linear(l + "mlp", multiply(l + "gated", active, up),
                  weight(l + "down_proj_weight", {hidden_, intermediate_}));
  }

  // Qwen2DecoderLayer
  Ref decoder_layer(const std::string& l, const Ref& x) {
    const Ref attended = add(l + "residual", x, attention(l, rms_norm(l + "input_norm", x)));
    return add(l + "output", attended, mlp(l, rms_norm(l + "post_attention_norm", attended)));
  }

  // ForCausalLMLoss: labels move one place to the left, and the last one is ignored.
  Ref causal_loss(const Ref& logits) {
    const Ref labels = b_.input("labels", DType::kInt64, {batch_, length_}, label_fill());
    const Ref wide = to("logits_float", logits, DType::kFloat32);
    const Ref padded =
        b_.call("labels_padded", "constant_pad_nd.default",
                {{"self", labels}, {"pad", std::vector<Dim>{0, 1}}, {"value", Scalar{kIgnored}}});
    const Ref next = b_.call("labels_next", "contiguous.default",
                             {{"self", slice("labels_shifted", padded, 1, 1, length_ + Dim(1))}});
    const Ref rows = b_.call("logits_rows", "reshape.default",
                             {{"self", wide}, {"shape", std::vector<Dim>{-1, vocab_}}});
    const Ref targets =
        b_.call("targets", "reshape.default", {{"self", next}, {"shape", std::vector<Dim>{-1}}});
    return b_.call("loss", "cross_entropy_loss.default",
                   {{"self", rows}, {"target", targets}, {"ignore_index", Dim(kIgnored)}});
  }

  Ref weight(const std::string& name, std::vector<Dim> shape) {
    return b_.parameter(name, dtype_, std::move(shape), normal(name, c_.initializer_range));
  }
  Ref linear(const std::string& name, const Ref& x, const Ref& matrix) {
    return b_.call(name, "linear.default", {{"input", x}, {"weight", matrix}});
  }
  Ref add(const std::string& name, const Ref& x, const Ref& y) {
    return b_.call(name, "add.Tensor", {{"self", x}, {"other", y}});
  }
  Ref multiply(const std::string& name, const Ref& x, const Ref& y) {
    return b_.call(name, "mul.Tensor", {{"self", x}, {"other", y}});
  }
  Ref times(const std::string& name, const Ref& x, double number) {
    return b_.call(name, "mul.Tensor", {{"self", x}, {"other", Scalar{number}}});
  }
  Ref to(const std::string& name, const Ref& x, DType dtype) {
    return b_.call(name, "to.dtype", {{"self", x}, {"dtype", dtype}});
  }
  Ref transpose(const std::string& name, const Ref& x) {
    return b_.call(name, "transpose.int", {{"self", x}, {"dim0", Dim(1)}, {"dim1", Dim(2)}});
  }
  Ref unsqueeze(const std::string& name, const Ref& x, std::int64_t dim) {
    return b_.call(name, "unsqueeze.default", {{"self", x}, {"dim", Dim(dim)}});
  }
  Ref slice(const std::string& name, const Ref& x, std::int64_t dim, Dim start, Dim end) {
    return b_.call(name, "slice.Tensor",
                   {{"self", x}, {"dim", Dim(dim)}, {"start", start}, {"end", end}});
  }
  Ref cat(const std::string& name, const Ref& x, const Ref& y) {
    return b_.call(name, "cat.default", {{"tensors", std::vector<Ref>{x, y}}, {"dim", Dim(-1)}});
  }

  Fill seeded(const std::string& name) const {
    Fill fill;
    fill.seed = Random(static_cast<std::uint64_t>(c_.seed)).fork(hash_name(name)).bits();
    return fill;
  }
  Fill normal(const std::string& name, double scale) const {
    Fill fill = seeded(name);
    fill.scale = scale;
    fill.grid = dtype_;
    return fill;
  }
  Fill tokens(const std::string& name) const {
    Fill fill = seeded(name);
    fill.kind = Fill::Kind::kInteger;
    fill.high = c_.vocab_size - 1;
    return fill;
  }
  Fill label_fill() const {
    Fill fill = tokens("labels");
    if (c_.ignore_some) {
      fill.values = {static_cast<double>(kIgnored)};
      fill.special_rate = 65536 / 8;
    }
    return fill;
  }
  Fill position_fill() const {
    Fill fill;
    fill.kind = Fill::Kind::kArange;
    fill.shift = static_cast<double>(c_.first_position);
    return fill;
  }
  // theta^(-2i/head_dim), rounded at the places where torch's float32 expression rounds.
  Fill frequencies(DType kept) const {
    Fill fill;
    fill.kind = Fill::Kind::kLiteral;
    for (std::int64_t i = 0; i < c_.head_dim / 2; ++i) {
      const double exponent =
          round_to(DType::kFloat32, static_cast<double>(2 * i) / static_cast<double>(c_.head_dim));
      const double power = round_to(DType::kFloat32, std::pow(c_.rope_theta, exponent));
      fill.values.push_back(round_to(kept, round_to(DType::kFloat32, 1 / power)));
    }
    fill.grid = kept;
    return fill;
  }

  std::optional<Cotangent> cotangent_of_loss() const {
    if (!c_.gradients) return std::nullopt;
    Cotangent ones;
    ones.fill.kind = Fill::Kind::kLiteral;
    ones.fill.values = {1};
    ones.fill.grid = DType::kFloat32;
    return ones;
  }
  std::optional<Cotangent> cotangent_of_logits() const {
    if (!c_.gradients) return std::nullopt;
    Cotangent random;
    random.fill = normal("cotangent", 1);
    return random;
  }

  const Qwen2Config& c_;
  ProgramBuilder b_;
  DType dtype_;
  Dim batch_, length_, hidden_, intermediate_, vocab_;
  Ref cos_, sin_;
};

Case build_qwen2(const ModelConfig& model) {
  const Qwen2Config config = read_qwen2(model);
  Case c = Recipe(config).build();
  c.model = model;
  return c;
}

}  // namespace

const Family& qwen2_family() {
  static const Family family{"qwen2", qwen2_fields(), draw_qwen2, build_qwen2};
  return family;
}

}  // namespace ulpfuzz
