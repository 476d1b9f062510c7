#include "ir/modules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

constexpr std::array<std::string_view, 2> kAttention{"sdpa", "eager"};
constexpr std::array<std::string_view, 4> kActivations{"silu", "gelu", "gelu_pytorch_tanh", "relu"};
constexpr std::array<std::string_view, 2> kNorms{"RMSNorm", "LayerNorm"};
constexpr std::array<std::string_view, 3> kMlps{"LLaMAMLP", "GptNeoxMLP", "GemmaMLP"};
constexpr std::array<std::string_view, 2> kGelus{"none", "tanh"};

ModuleField size(std::string_view name, std::string_view meaning, std::int64_t smallest = 1) {
  return {name, smallest, smallest, 0, {}, meaning};
}
ModuleField number(std::string_view name, double smallest, std::string_view meaning) {
  return {name, smallest, 0, 0, {}, meaning};
}
ModuleField flag(std::string_view name, std::string_view meaning, bool smallest = false) {
  return {name, smallest, 0, 0, {}, meaning};
}
ModuleField choice(std::string_view name, std::span<const std::string_view> texts,
                   std::string_view meaning) {
  return {name, std::string(texts.front()), 0, 0, texts, meaning};
}

// What transformers' decoders have in common, and what `more` adds.
std::vector<ModuleField> decoder(std::vector<ModuleField> more) {
  std::vector<ModuleField> fields = {
      size("num_hidden_layers", "decoder layers"),
      size("num_attention_heads", "query heads, a multiple of num_key_value_heads"),
      size("num_key_value_heads", "key and value heads"),
      size("hidden_size", "size of the residual stream"),
      size("intermediate_size", "size within the MLP"),
      size("vocab_size", "tokens that there are"),
      size("max_position_embeddings", "positions that there are"),
      {"pad_token_id", std::int64_t{-1}, -1, 0, {}, "its embedding has no gradient; -1: none"},
      choice("hidden_act", kActivations, "activation of the MLP"),
      choice("attn_implementation", kAttention, "scaled_dot_product_attention, or matmuls"),
      flag("tie_word_embeddings", "the output projection is the embedding"),
      number("rms_norm_eps", 1e-6, "added to the mean square"),
      number("rope_theta", 10000.0, "base of the rotary frequencies"),
      number("initializer_range", 0.02, "standard deviation of the weights"),
  };
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

std::vector<ModuleField> gpt() {
  return {
      size("n_layer", "decoder layers"),
      size("n_head", "query heads, a multiple of n_query_groups"),
      size("n_query_groups", "key and value heads"),
      size("head_size", "size of a head"),
      size("n_embd", "size of the residual stream"),
      size("intermediate_size", "size within the MLP"),
      size("vocab_size", "tokens that there are"),
      size("padded_vocab_size", "rows of the embedding, at least vocab_size"),
      size("block_size", "positions that there are"),
      {"sliding_window_size", std::int64_t{0}, 0, 0, {}, "tokens that one attends to; 0: all"},
      choice("norm_class_name", kNorms, "of every norm"),
      choice("mlp_class_name", kMlps, "of every MLP"),
      choice("gelu_approximate", kGelus, "of the MLPs that have a GELU"),
      flag("parallel_residual", "attention and MLP read the same"),
      flag("shared_attention_norm", "with parallel_residual: one norm for both"),
      flag("norm_qk", "queries and keys are normed"),
      flag("bias", "linear layers have one"),
      flag("attn_bias", "the projection of queries, keys and values has one"),
      flag("lm_head_bias", "the output projection has one"),
      flag("scale_embeddings", "by the root of n_embd"),
      number("norm_eps", 1e-5, "added to the mean square"),
      number("rotary_percentage", 1.0, "part of a head that turns"),
      size("rope_base", "base of the rotary frequencies", 2),
  };
}

[[noreturn]] void refuse(const std::string& place, const std::string& message) {
  throw Error(place, message);
}

std::string list(std::span<const std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all += (all.empty() ? "" : ", ") + std::string(text);
  return all;
}

void check_value(const ModuleField& field, const ConfigValue& value, const std::string& place) {
  if (value.index() != field.smallest.index()) refuse(place, "is of another type");
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const std::int64_t high = field.high > 0 ? field.high : kLargestSize;
    if (*integer < field.low || *integer > high) {
      refuse(place, "must be in [" + std::to_string(field.low) + ", " + std::to_string(high) + "]");
    }
  } else if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real) || *real < 0) refuse(place, "must be finite and not negative");
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    if (std::ranges::find(field.texts, *text) == field.texts.end()) {
      refuse(place, "must be one of " + list(field.texts));
    }
  }
}

}  // namespace

// Every module: one line.
std::span<const ModuleKind> module_kinds() {
  static const std::vector<ModuleField> kQwen2 = decoder({size("head_dim", "size of a head", 2)});
  static const std::vector<ModuleField> kLlama =
      decoder({size("head_dim", "size of a head", 2), flag("attention_bias", "of its projections"),
               flag("mlp_bias", "of its projections")});
  static const std::vector<ModuleField> kPhi3 =
      decoder({number("partial_rotary_factor", 1.0, "part of a head that turns"),
               size("sliding_window", "tokens that one attends to")});
  static const std::vector<ModuleField> kGpt = gpt();
  static const std::array kKinds{
      ModuleKind{"transformers.Qwen2ForCausalLM", kQwen2},
      ModuleKind{"transformers.LlamaForCausalLM", kLlama},
      ModuleKind{"transformers.Phi3ForCausalLM", kPhi3},
      ModuleKind{"litgpt.GPT", kGpt},
  };
  return kKinds;
}

const ModuleKind& module_kind(std::string_view name) {
  std::string known;
  for (const ModuleKind& kind : module_kinds()) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error("/module", "there is no module '" + std::string(name) + "'; there are " + known);
}

void check_module(const ModuleConfig& config, const std::string& place) {
  const auto kinds = module_kinds();
  const auto kind = std::ranges::find(kinds, config.module, &ModuleKind::name);
  if (kind == kinds.end()) {
    std::vector<std::string_view> names;
    for (const ModuleKind& known : kinds) names.push_back(known.name);
    refuse(place + "/module", "is not one of " + list(names));
  }
  for (const auto& [name, value] : config.config) {
    const std::string at = place + "/config/" + name;
    const auto field = std::ranges::find(kind->fields, name, &ModuleField::name);
    if (field == kind->fields.end()) {
      refuse(at, "is not a field of " + config.module + " that a case may give");
    }
    check_value(*field, value, at);
  }
  const std::optional<DType> dtype = parse_dtype(config.dtype);
  if (!dtype || !is_floating(*dtype)) refuse(place + "/dtype", "must be a floating type");
  if (config.batch < 1 || config.batch > kLargestSize) refuse(place + "/batch", "must be positive");
  const std::int64_t least = config.labels ? 2 : 1;  // the last token may have no label
  if (config.length < least || config.length > kLargestSize) {
    refuse(place + "/length", "must be at least " + std::to_string(least));
  }
}

}  // namespace ulpfuzz
