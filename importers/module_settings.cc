#include "importers/module_settings.h"

#include <algorithm>

#include "importers/imported.h"
#include "ir/error.h"
#include "ir/modules.h"

namespace ulpfuzz {
namespace {

constexpr std::string_view kOfTheCall =
    "dtype, batch, length, labels, gradients, seed, library_init";

template <class T>
T read(const std::string& field, const std::string& text) {
  return std::get<T>(setting_value(field, text, ConfigValue(T{})));
}

bool set_call(ModuleConfig& module, const std::string& field, const std::string& text) {
  if (field == "dtype") {
    module.dtype = text;
  } else if (field == "batch") {
    module.batch = read<std::int64_t>(field, text);
  } else if (field == "length") {
    module.length = read<std::int64_t>(field, text);
  } else if (field == "labels") {
    module.labels = read<bool>(field, text);
  } else if (field == "gradients") {
    module.gradients = read<bool>(field, text);
  } else if (field == "seed") {
    module.seed = static_cast<std::uint64_t>(read<std::int64_t>(field, text));
  } else if (field == "library_init") {
    module.library_init = read<bool>(field, text);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void set_module_field(ModuleConfig& module, const std::string& field, const std::string& text) {
  if (set_call(module, field, text)) return;
  const auto fields = module_kind(module.module).fields;
  const auto known = std::ranges::find(fields, field, &ModuleField::name);
  if (known == fields.end()) {
    std::string names;
    for (const ModuleField& one : fields) names += std::string(one.name) + ", ";
    throw Error("--set " + field, "is not a field of " + module.module + "; there are " + names +
                                      std::string(kOfTheCall));
  }
  module.config[field] = setting_value(field, text, known->smallest);
}

}  // namespace ulpfuzz
