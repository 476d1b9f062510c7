#pragma once

#include <string>

#include "importers/imported.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

struct ImportOptions {
  Settings settings = {};
  bool trust = false;  // a Python file may run
};

// A case from a file that is none yet, by what is in it: a configuration of transformers
// (hf_config.h), or a file of torch (traced.h). Throws Error for a file that is nothing of this,
// and for a Python file without `trust`.
Imported import_source(const std::string& path, const ImportOptions& options, Scheduler& scheduler);

// Whether a file is a source rather than a case.
bool is_source(const std::string& path);

}  // namespace ulpfuzz
