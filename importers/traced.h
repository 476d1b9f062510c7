#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "importers/imported.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// What files of torch the Python host reads (systems/python/importing.py), as it is told.
enum class TracedKind {
  kExported,  // "pt2": an archive of torch.export.save, with its example inputs
  kMinifier,  // "minifier": the script that torch's accuracy minifier writes
  kPython,    // "python": a file that defines `module` and `inputs`; it is run
};
std::string_view name(TracedKind kind);

// By the first bytes of a file and its name. Nothing for another file.
std::optional<TracedKind> traced_kind(const std::string& path, std::string_view text);

// The program that the file's eager forward pass runs, with all tensors as literals. Gradients are
// taken by the inputs and parameters that require them, from drawn cotangents. Throws Error at
// `path` for what cannot be loaded or written as a program, or has operators that are not known.
Imported import_traced(TracedKind kind, const std::string& path, Scheduler& scheduler);

// The part of it after the host's answer, which is not trusted.
Imported imported_program(const std::string& result, TracedKind kind, const std::string& place,
                          const OpTable& table);

}  // namespace ulpfuzz
