#pragma once

#include "generators/decoder_config.h"
#include "generators/family.h"

namespace ulpfuzz {

// LitGPT's GPT (0.5.13, eager mode on a CPU, no cache) with the layout of Phi-3-mini-4k-instruct: a
// fused qkv projection, rotary embedding of the first rope_n_elem elements of a head, RMSNorm,
// LLaMAMLP, and a mask of the sliding window in every layer. The same operators in the same order,
// so that the program's results are the module's to the bit; left out are a mask that LitGPT makes
// and drops, and the rotation of no elements. Labels are shifted by the caller, as in LitGPT's
// training steps. Outputs: the loss (with `labels`), then the logits.
//
// The buffers cos and sin come as inputs with literal elements, correctly rounded; the library's
// own differ in the last bit here and there, since torch's vectorised cosine does.
const Family& phi3_family();

// max_position_embeddings is the number of rows of cos and sin (GPT.max_seq_length).
struct Phi3Config : DecoderConfig {
  bool bias = false;                     // of qkv, the projections and the MLP
  double rotary_percentage = 1;          // of the head's elements
  std::int64_t sliding_window_size = 0;  // 0: none
  // Not in the library's configuration.
  bool reshape_loss = true;  // cross_entropy of (batch * length, vocab); else of (batch, vocab,
                             // length), a transposed view

  std::int64_t rope_n_elem() const;
};

std::span<const ConfigField> phi3_fields();
ModelConfig draw_phi3(Random& random);
Phi3Config read_phi3(const ModelConfig& config);  // throws Error naming the field

}  // namespace ulpfuzz
