#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "importers/family.h"
#include "importers/hf_config.h"
#include "importers/imported.h"
#include "importers/traced.h"
#include "ir/error.h"
#include "ops/table.h"

namespace {

using namespace ulpfuzz;

void unless_refused(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error&) {
  }
}

}  // namespace

// What `import` reads: a configuration, the answer of the Python host, words behind --set. The
// first line is the words, the rest the document.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string document = line < text.size() ? text.substr(line + 1) : "";
  Settings settings;
  unless_refused([&] { settings = parse_settings({text.substr(0, line)}); });
  // Without settings it is the same model each time: once is enough.
  static bool built = false;
  if (!settings.empty() || !std::exchange(built, true)) {
    unless_refused([&] { import_family("qwen2", settings); });
  }
  unless_refused([&] {
    if (is_hf_config(document)) import_hf_config(document, "config.json", settings);
  });
  unless_refused(
      [&] { imported_program(document, TracedKind::kExported, "model.pt2", op_table()); });
  traced_kind("x.py", document);
  return 0;
}
