#pragma once

#include <string>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz {

// Python that builds a library's module on its public API: imports, and `program`, a step around
// the module that takes tokens (and labels) and gives a tuple; and `placed`, which puts values into
// its parameters and buffers and gives these in their place.
struct ModuleText {
  std::vector<std::string> imports;  // for after `import torch`
  std::string definitions;
  std::string needs;  // "transformers"
};
ModuleText module_text(const ModuleConfig& module);

// The names of the inputs that a step takes, and of those that lie in its module.
struct ModuleInputs {
  std::vector<std::string> given, placed;
};
ModuleInputs module_inputs(const Case& c);

}  // namespace ulpfuzz
