#include "importers/source.h"

#include <fstream>
#include <iterator>

#include "importers/hf_config.h"
#include "importers/traced.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kLongestText = std::size_t{64} << 20;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path, "cannot be read");
  std::string text;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof(buffer)) || file.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLongestText) throw Error(path, "is longer than 64 MiB");
  }
  return text;
}

}  // namespace

bool is_source(const std::string& path) {
  const std::string text = read_text(path);
  return is_hf_config(text) || traced_kind(path, text).has_value();
}

Imported import_source(const std::string& path, const ImportOptions& options,
                       Scheduler& scheduler) {
  const std::string text = read_text(path);
  if (is_hf_config(text)) return import_hf_config(text, path, options.settings);
  const std::optional<TracedKind> kind = traced_kind(path, text);
  if (!kind) {
    throw Error(path,
                "is no source that can be imported: a config.json of transformers, a .pt2 of "
                "torch.export, a script of torch's minifier, a Python file");
  }
  if (!options.settings.empty()) throw Error("--set", "a file of torch has no fields to set");
  if (*kind == TracedKind::kPython && !options.trust) {
    throw Error(path, "is Python, which would be run: 'ulpfuzz import --trust' does so");
  }
  return import_traced(*kind, path, scheduler);
}

}  // namespace ulpfuzz
