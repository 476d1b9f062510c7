#include "generators/llama.h"

#include <numbers>
#include <utility>

#include "generators/decoder.h"

namespace ulpfuzz {
namespace {

const ConfigTable<LlamaConfig>& table() {
  static const ConfigTable<LlamaConfig> table("llama", [] {
    using C = LlamaConfig;
    std::vector<ConfigEntry<C>> fields = transformers_fields<C>();
    const std::vector<ConfigEntry<C>> own = {
        {{"attention_bias", false, "biases of q_proj, k_proj, v_proj and o_proj"},
         &C::attention_bias},
        {{"mlp_bias", false, "biases of gate_proj, up_proj and down_proj"}, &C::mlp_bias},
        {{"rope_type", std::string("default"), "default, or llama3: scaled frequencies"},
         &C::rope_type},
        {{"factor", 8.0, "llama3: by what low frequencies are divided"}, &C::factor},
        {{"low_freq_factor", 1.0, "llama3: of wavelengths above which they are divided"},
         &C::low_freq_factor},
        {{"high_freq_factor", 4.0, "llama3: of wavelengths below which they stay"},
         &C::high_freq_factor},
        {{"original_max_position_embeddings", std::int64_t{1}, "llama3: positions trained on"},
         &C::original_max_position_embeddings},
    };
    fields.insert(fields.end(), own.begin(), own.end());
    return fields;
  }());
  return table;
}

void check_rope(const LlamaConfig& c) {
  using C = LlamaConfig;
  if (c.rope_type != "default" && c.rope_type != "llama3") {
    table().refuse(&C::rope_type, "must be default or llama3");
  }
  if (!(c.factor >= 1)) table().refuse(&C::factor, "must be at least 1");
  if (!(c.low_freq_factor > 0)) table().refuse(&C::low_freq_factor, "must be positive");
  if (!(c.high_freq_factor > c.low_freq_factor)) {
    table().refuse(&C::high_freq_factor, "must be greater than low_freq_factor");
  }
  table().at_least(c, &C::original_max_position_embeddings, 1);
}

ModelConfig draw(Random& random) {
  LlamaConfig c;
  draw_transformers(random, c);
  c.attention_bias = random.chance(0.3);
  c.mlp_bias = random.chance(0.3);
  if (random.chance(0.4)) c.rope_type = "llama3";
  c.factor = random.pick(std::vector<double>{8, 32, 2, 1.5, 1});
  c.low_freq_factor = random.pick(std::vector<double>{1, 1, 1, 2, 0.5});
  c.high_freq_factor = random.pick(std::vector<double>{4, 4, 4, 8, 3.5});
  // Short ones too, so that all three ranges of wavelengths occur with small bases.
  c.original_max_position_embeddings =
      random.pick(std::vector<std::int64_t>{8192, 8192, 2048, 256, 64, 16});
  return table().write(c);
}

Case build(const ModelConfig& model) {
  const LlamaConfig config = read_llama(model);
  Case c = build_transformers(
      config, {.qkv_bias = config.attention_bias,
               .output_bias = config.attention_bias,
               .mlp_bias = config.mlp_bias,
               .inv_freq = config.rope_type == "llama3"
                               ? llama3_frequencies(config)
                               : rotary_frequencies(config.rope_theta, config.head_dim)});
  c.model = model;
  return c;
}

double f32(double x) { return round_to(DType::kFloat32, x); }

}  // namespace

std::vector<double> llama3_frequencies(const LlamaConfig& c) {
  const double low = c.low_freq_factor, high = c.high_freq_factor;
  const double context = static_cast<double>(c.original_max_position_embeddings);
  std::vector<double> frequencies = rotary_frequencies(c.rope_theta, c.head_dim);
  for (double& frequency : frequencies) {
    // torch divides a number by a tensor as reciprocal times number.
    const double wavelength = f32(f32(1 / frequency) * f32(2 * std::numbers::pi));
    const bool is_long = wavelength > f32(context / low);
    const bool is_short = wavelength < f32(context / high);
    const double scaled = is_long ? f32(frequency / f32(c.factor)) : frequency;
    frequency = scaled;
    if (is_long || is_short) continue;
    const double ratio = f32(f32(1 / wavelength) * f32(context));
    const double smooth = f32(f32(ratio - f32(low)) / f32(high - low));
    frequency = f32(f32(f32(f32(1 - smooth) * scaled) / f32(c.factor)) + f32(smooth * scaled));
  }
  return frequencies;
}

LlamaConfig read_llama(const ModelConfig& model) {
  const LlamaConfig c = table().read(model);
  check_transformers(table(), c);
  check_rope(c);
  return c;
}

const Family& llama_family() {
  static const Family family{"llama", table().fields(), draw, build};
  return family;
}

}  // namespace ulpfuzz
