#pragma once

#include <string>

#include "ir/case.h"

namespace ulpfuzz {

// Sets one field of a module's configuration, or of its call: dtype, batch, length, labels,
// gradients, seed, library_init. Throws Error for a field that there is not, and for a value of
// another type; ranges are check_module's.
void set_module_field(ModuleConfig& module, const std::string& field, const std::string& text);

}  // namespace ulpfuzz
