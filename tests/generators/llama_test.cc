#include "generators/llama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "generators/decoder.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

LlamaConfig scaled() {
  LlamaConfig c;
  c.head_dim = 16;
  c.rope_theta = 500;
  c.rope_type = "llama3";
  c.original_max_position_embeddings = 64;
  return c;
}

// Wavelengths below 16 stay, those above 64 are divided, and there are some of each and between.
TEST(Llama, ScalesLowFrequenciesOnly) {
  const LlamaConfig c = scaled();
  const std::vector<double> plain = rotary_frequencies(c.rope_theta, c.head_dim);
  const std::vector<double> frequencies = llama3_frequencies(c);
  int stay = 0, divided = 0, between = 0;
  ASSERT_EQ(plain.size(), frequencies.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 6.283185307179586 / plain[i];
    if (wavelength < 16) {
      EXPECT_EQ(frequencies[i], plain[i]);
      ++stay;
    } else if (wavelength > 64) {
      EXPECT_EQ(frequencies[i], plain[i] / 8);
      ++divided;
    } else {
      EXPECT_LT(frequencies[i], plain[i]);
      EXPECT_GT(frequencies[i], plain[i] / 8);
      ++between;
    }
  }
  EXPECT_GT(stay, 0);
  EXPECT_GT(divided, 0);
  EXPECT_GT(between, 0);
}

TEST(Llama, HasBiasesWhereTheConfigurationSaysSo) {
  Random random(1);
  ModelConfig config = family("llama").draw(random);
  const auto biases = [&](bool attention, bool mlp) {
    config.fields["num_hidden_layers"] = std::int64_t{1};
    config.fields["attention_bias"] = attention;
    config.fields["mlp_bias"] = mlp;
    const Case c = family("llama").build(config);
    return std::ranges::count_if(
        c.program.inputs, [](const ProgramInput& input) { return input.name.ends_with("_bias"); });
  };
  EXPECT_EQ(biases(false, false), 0);
  EXPECT_EQ(biases(true, false), 4);
  EXPECT_EQ(biases(false, true), 3);
}

TEST(Llama, RefusesAScalingThatIsNone) {
  Random random(1);
  const ModelConfig config = family("llama").draw(random);
  const auto refused = [&](const std::string& field, auto value) {
    ModelConfig other = config;
    other.fields[field] = value;
    EXPECT_THROW(read_llama(other), Error) << field;
  };
  refused("rope_type", std::string("yarn"));
  refused("factor", 0.5);
  refused("factor", std::nan(""));
  refused("low_freq_factor", 0.0);
  refused("high_freq_factor", 0.25);
  refused("original_max_position_embeddings", std::int64_t{0});
}

}  // namespace
}  // namespace ulpfuzz
