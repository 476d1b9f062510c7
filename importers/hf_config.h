#pragma once

#include <string>
#include <string_view>

#include "importers/imported.h"

namespace ulpfuzz {

// A case of a library's module from the config.json that transformers writes beside a model. Fields
// are taken where a case may give them (ir/modules.h); others are named in the notes, unless their
// value changes nothing. `settings` come on top: fields of the configuration, and what a
// configuration does not say of the call: dtype, batch (1), length (32, or as many as there are
// positions), labels (true), gradients (true), seed, library_init. One more model_type is one more
// entry in the .cc.
//
// Runs no code. Throws Error at `place` and a JSON pointer for a model_type that is not known, and
// for whatever would make a library load code: auto_map, trust_remote_code, kernels of a hub.
Imported import_hf_config(std::string_view text, const std::string& place,
                          const Settings& settings);

// Whether a JSON text is such a configuration.
bool is_hf_config(std::string_view text);

}  // namespace ulpfuzz
