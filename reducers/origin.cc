#include "reducers/origin.h"

#include <cstdlib>

#include "generators/family.h"
#include "ir/modules.h"

namespace ulpfuzz {
namespace {

// How a module is called and filled; names that no configuration class has.
const std::vector<OriginField>& call_fields() {
  static const std::vector<OriginField> fields = {
      {"batch", std::int64_t{1}}, {"length", std::int64_t{1}}, {"labels", false},
      {"gradients", false},       {"seed", std::int64_t{0}},   {"dtype", std::string("float32")},
      {"library_init", false},
  };
  return fields;
}

std::int64_t weight(const OriginField& field, const OriginFields& values) {
  const auto* least = std::get_if<std::int64_t>(&field.smallest);
  const auto it = values.find(field.name);
  if (it == values.end()) return least != nullptr ? kLargestSize : 1;
  const auto* integer = std::get_if<std::int64_t>(&it->second);
  if (integer == nullptr || least == nullptr) return it->second == field.smallest ? 0 : 1;
  return field.name == "seed" ? (*integer != *least ? 1 : 0) : std::abs(*integer - *least);
}

}  // namespace

std::vector<OriginField> origin_fields(const Case& c) {
  std::vector<OriginField> fields;
  if (c.model) {
    for (const ConfigField& field : family(c.model->family).fields) {
      fields.push_back({std::string(field.name), field.smallest});
    }
  } else if (c.module) {
    fields = call_fields();
    for (const ModuleField& field : module_kind(c.module->module).fields) {
      fields.push_back({std::string(field.name), field.smallest});
    }
  }
  return fields;
}

OriginFields origin_values(const Case& c) {
  if (c.model) return c.model->fields;
  if (!c.module) return {};
  OriginFields values = c.module->config;
  values["batch"] = c.module->batch;
  values["length"] = c.module->length;
  values["labels"] = c.module->labels;
  values["gradients"] = c.module->gradients;
  values["seed"] = static_cast<std::int64_t>(c.module->seed);
  values["dtype"] = c.module->dtype;
  values["library_init"] = c.module->library_init;
  return values;
}

Case with_origin_values(const Case& c, const OriginFields& fields) {
  Case result;
  result.environment = c.environment;
  if (c.model) {
    result.model = ModelConfig{c.model->family, fields};
    return result;
  }
  ModuleConfig module = *c.module;
  module.config = fields;
  for (const OriginField& field : call_fields()) module.config.erase(field.name);
  module.batch = std::get<std::int64_t>(fields.at("batch"));
  module.length = std::get<std::int64_t>(fields.at("length"));
  module.labels = std::get<bool>(fields.at("labels"));
  module.gradients = std::get<bool>(fields.at("gradients"));
  module.seed = static_cast<std::uint64_t>(std::get<std::int64_t>(fields.at("seed")));
  module.dtype = std::get<std::string>(fields.at("dtype"));
  module.library_init = std::get<bool>(fields.at("library_init"));
  check_module(module, "/module");
  result.module = std::move(module);
  return result;
}

std::int64_t origin_weight(const Case& c) {
  const OriginFields values = origin_values(c);
  std::int64_t n = 0;
  for (const OriginField& field : origin_fields(c)) {
    // A recipe's field that is left out is not there; a library's has a default.
    if (c.model && !values.contains(field.name)) continue;
    n += weight(field, values);
  }
  return n;
}

}  // namespace ulpfuzz
