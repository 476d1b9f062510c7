#include "generators/decoder_config.h"

#include <array>
#include <vector>

namespace ulpfuzz {
namespace {

template <class T>
T pick(Random& random, const std::vector<T>& items) {
  return random.pick(items);
}

}  // namespace

void draw_head_counts(Random& random, DecoderConfig& c) {
  c.num_key_value_heads = pick<std::int64_t>(random, {1, 1, 2, 2, 3, 4});
  std::int64_t group = pick<std::int64_t>(random, {1, 1, 2, 2, 3, 4, 7});
  if (c.num_key_value_heads * group > 16 && random.chance(0.5)) group = 1;
  c.num_attention_heads = c.num_key_value_heads * group;
}

void draw_head_dim(Random& random, DecoderConfig& c, bool even) {
  do {
    c.head_dim = even ? pick<std::int64_t>(random, {2, 4, 6, 8, 10, 14, 16, 18, 32, 34, 64})
                      : pick<std::int64_t>(random, {1, 3, 5, 7, 9, 15, 16, 17, 33, 65});
  } while (c.num_attention_heads * c.head_dim > 320);
}

void draw_sizes(Random& random, DecoderConfig& c) {
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
}

void draw_numbers(Random& random, DecoderConfig& c) {
  constexpr std::array kTypes = {"float32", "bfloat16", "float16"};
  c.rms_norm_eps = pick<double>(random, {1e-6, 1e-6, 1e-5, 1e-8});
  c.rope_theta = pick<double>(random, {10000, 10000, 1e6, 500, 10});
  c.initializer_range = pick<double>(random, {0.02, 0.02, 0.02, 0.05, 0.2, 0.2, 0.2, 0.5, 1});
  c.dtype = kTypes[random.weighted({50, 35, 15})];
  c.seed = random.integer(0, std::int64_t{1} << 40);
}

}  // namespace ulpfuzz
