#include "generators/qwen2.h"

#include "generators/decoder.h"

namespace ulpfuzz {
namespace {

const ConfigTable<Qwen2Config>& table() {
  static const ConfigTable<Qwen2Config> table("qwen2", transformers_fields<Qwen2Config>());
  return table;
}

ModelConfig draw(Random& random) {
  Qwen2Config c;
  draw_transformers(random, c);
  return table().write(c);
}

Case build(const ModelConfig& model) {
  const Qwen2Config config = read_qwen2(model);
  Case c = build_transformers(
      config,
      {.qkv_bias = true, .inv_freq = rotary_frequencies(config.rope_theta, config.head_dim)});
  c.model = model;
  return c;
}

}  // namespace

Qwen2Config read_qwen2(const ModelConfig& model) {
  const Qwen2Config c = table().read(model);
  check_transformers(table(), c);
  return c;
}

const Family& qwen2_family() {
  static const Family family{"qwen2", table().fields(), draw, build};
  return family;
}

}  // namespace ulpfuzz
