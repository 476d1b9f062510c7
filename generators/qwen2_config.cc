#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "generators/qwen2.h"
#include "ir/dtype.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Value = std::variant<bool, std::int64_t, double, std::string>;
using Member = std::variant<bool Qwen2Config::*, std::int64_t Qwen2Config::*, double Qwen2Config::*,
                            std::string Qwen2Config::*>;

struct Field {
  ConfigField field;
  Member member;
};

const std::vector<Field>& all_fields() {
  using C = Qwen2Config;
  constexpr auto number = [](std::int64_t value) { return Value(value); };
  static const std::vector<Field> fields = {
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
  return fields;
}

[[noreturn]] void refuse(std::string_view field, const std::string& message) {
  throw Error("/model/fields/" + std::string(field), message);
}

void at_least(std::string_view field, std::int64_t value, std::int64_t least) {
  if (value < least) refuse(field, "must be at least " + std::to_string(least));
}

void check_sizes(const Qwen2Config& c) {
  at_least("batch", c.batch, 1);
  at_least("length", c.length, c.labels ? 2 : 1);  // the last token has no label
  at_least("num_hidden_layers", c.num_hidden_layers, 1);
  at_least("num_key_value_heads", c.num_key_value_heads, 1);
  at_least("num_attention_heads", c.num_attention_heads, 1);
  at_least("head_dim", c.head_dim, 1);
  at_least("hidden_size", c.hidden_size, 1);
  at_least("intermediate_size", c.intermediate_size, 1);
  at_least("vocab_size", c.vocab_size, 1);
  at_least("first_position", c.first_position, 0);
}

void check(const Qwen2Config& c) {
  check_sizes(c);
  if (c.num_attention_heads % c.num_key_value_heads != 0) {
    refuse("num_attention_heads", "must be a multiple of num_key_value_heads");
  }
  if (c.rope && c.head_dim % 2 != 0) {
    refuse("head_dim", "must be even, as rotary embedding turns pairs; or set rope to false");
  }
  if (c.first_position + c.length > c.max_position_embeddings) {
    refuse("max_position_embeddings", "must be at least first_position + length");
  }
  if (c.pad_token_id < -1 || c.pad_token_id >= c.vocab_size) {
    refuse("pad_token_id", "must be a token, or -1");
  }
  const std::optional<DType> dtype = parse_dtype(c.dtype);
  if (!dtype || !is_floating(*dtype)) refuse("dtype", "must be a floating type");
}

template <class T>
T pick(Random& random, const std::vector<T>& items) {
  return random.pick(items);
}

std::string draw_dtype(Random& random) {
  constexpr std::array kTypes = {"float32", "bfloat16", "float16"};
  return kTypes[random.weighted({50, 35, 15})];
}

void draw_heads(Random& random, Qwen2Config& c) {
  c.num_key_value_heads = pick<std::int64_t>(random, {1, 1, 2, 2, 3, 4});
  std::int64_t group = pick<std::int64_t>(random, {1, 1, 2, 2, 3, 4, 7});
  if (c.num_key_value_heads * group > 16 && random.chance(0.5)) group = 1;
  c.num_attention_heads = c.num_key_value_heads * group;
  c.rope = random.chance(0.88);
  do {
    c.head_dim = c.rope ? pick<std::int64_t>(random, {2, 4, 6, 8, 10, 14, 16, 18, 32, 34, 64})
                        : pick<std::int64_t>(random, {1, 3, 5, 7, 9, 15, 16, 17, 33, 65});
  } while (c.num_attention_heads * c.head_dim > 320);
}

ModelConfig to_model(const Qwen2Config& c) {
  ModelConfig model;
  model.family = "qwen2";
  for (const Field& field : all_fields()) {
    std::visit([&](auto member) { model.fields[std::string(field.field.name)] = c.*member; },
               field.member);
  }
  return model;
}

}  // namespace

std::span<const ConfigField> qwen2_fields() {
  static const std::vector<ConfigField> fields = [] {
    std::vector<ConfigField> list;
    for (const Field& field : all_fields()) list.push_back(field.field);
    return list;
  }();
  return fields;
}

ModelConfig draw_qwen2(Random& random) {
  Qwen2Config c;
  draw_heads(random, c);
  c.num_hidden_layers = pick<std::int64_t>(random, {1, 1, 1, 1, 1, 2, 2, 3});
  c.hidden_size = random.chance(0.5)
                      ? c.num_attention_heads * c.head_dim
                      : pick<std::int64_t>(random, {4, 7, 8, 16, 17, 24, 33, 56, 64, 96});
  c.intermediate_size = pick<std::int64_t>(random, {1, 7, 16, 33, 64, 65, 100, 176});
  c.vocab_size = pick<std::int64_t>(random, {2, 5, 11, 32, 65, 128, 257});
  c.batch = pick<std::int64_t>(random, {1, 1, 2, 3});
  c.labels = random.chance(0.6);
  c.length = pick<std::int64_t>(random, {2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33});
  if (!c.labels && random.chance(0.1)) c.length = 1;
  if (random.chance(0.03)) c.length = pick<std::int64_t>(random, {64, 65, 127, 128});
  c.ignore_some = c.labels && c.batch * c.length >= 24 && random.chance(0.3);
  c.gradients = random.chance(0.8);
  c.max_position_embeddings = pick<std::int64_t>(random, {128, 256, 2048, 32768});
  if (random.chance(0.2)) {
    c.first_position = random.integer(0, c.max_position_embeddings - c.length);
  }
  c.tie_word_embeddings = random.chance(0.3);
  c.cast_buffers = random.chance(0.2);
  if (random.chance(0.15)) c.pad_token_id = random.integer(0, c.vocab_size - 1);
  c.rms_norm_eps = pick<double>(random, {1e-6, 1e-6, 1e-5, 1e-8});
  c.rope_theta = pick<double>(random, {10000, 10000, 1e6, 500, 10});
  c.initializer_range = pick<double>(random, {0.02, 0.02, 0.02, 0.05, 0.2, 0.2, 0.2, 0.5, 1});
  c.dtype = draw_dtype(random);
  c.seed = random.integer(0, std::int64_t{1} << 40);
  return to_model(c);
}

Qwen2Config read_qwen2(const ModelConfig& model) {
  Qwen2Config c;
  for (const Field& field : all_fields()) {
    const auto given = model.fields.find(std::string(field.field.name));
    if (given == model.fields.end()) refuse(field.field.name, "is missing");
    std::visit(
        [&](auto member) {
          using T = std::remove_cvref_t<decltype(c.*member)>;
          const T* value = std::get_if<T>(&given->second);
          if (value == nullptr) refuse(field.field.name, "is of another type");
          c.*member = *value;
        },
        field.member);
  }
  const std::span<const ConfigField> known = qwen2_fields();
  for (const auto& [name, value] : model.fields) {
    if (std::none_of(known.begin(), known.end(),
                     [&](const ConfigField& field) { return field.name == name; })) {
      refuse(name, "is not a field of qwen2");
    }
  }
  check(c);
  return c;
}

}  // namespace ulpfuzz
