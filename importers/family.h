#pragma once

#include <string>

#include "importers/imported.h"

namespace ulpfuzz {

// A case of a model family (generators/family.h) with these fields. Others are those of a small
// training step (8 tokens of 16, labels, gradients, rotary embedding), follow from those set
// (head_dim is hidden_size / num_attention_heads, and there are positions for all tokens), or have
// the smallest value that there is; a note says them. Throws Error for a field that
// the family has not, and for values that do not go together.
Imported import_family(const std::string& name, const Settings& settings);

}  // namespace ulpfuzz
