// What builds a program: a model's configuration, a library's module.
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/modules.h"

namespace ulpfuzz {
namespace {

using Fields = std::map<std::string, ConfigValue>;

Json config_json(const Fields& fields) {
  Json config = Json::object();
  for (const auto& [field, value] : fields) {
    if (const auto* number = std::get_if<double>(&value)) {
      config[field] = {{"float", float_bits(*number)}};
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      const bool exact = std::abs(static_cast<double>(*integer)) < 0x1p53;
      config[field] = exact ? Json(*integer) : Json{{"int", std::to_string(*integer)}};
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      config[field] = *text;
    } else {
      config[field] = std::get<bool>(value);
    }
  }
  return config;
}

Fields read_config(const JsonReader& config) {
  Fields fields;
  for (const std::string& field : config.keys()) {
    const JsonReader value = config.at(field);
    if (value.json().is_boolean()) {
      fields[field] = value.boolean();
    } else if (value.json().is_string()) {
      fields[field] = value.string();
    } else if (value.json().is_number_integer()) {
      fields[field] = value.integer();
    } else if (value.json().is_number()) {
      fields[field] = value.floating();
    } else {
      const auto [kind, number] = value.single();
      if (kind != "float" && kind != "int") number.fail("a field's number is float or int");
      if (kind == "float") fields[field] = number.floating();
      if (kind == "int") fields[field] = number.integer();
    }
  }
  return fields;
}

}  // namespace

Json json_of(const ModelConfig& model) {
  return {{"family", model.family}, {"config", config_json(model.fields)}};
}

ModelConfig model_from(const Json& json, const std::string& place) {
  const JsonReader reader(json, place);
  reader.only({"family", "config"});
  return {reader.at("family").string(256), read_config(reader.at("config"))};
}

Json json_of(const ModuleConfig& module) {
  Json json = {{"module", module.module},       {"config", config_json(module.config)},
               {"dtype", module.dtype},         {"batch", module.batch},
               {"length", module.length},       {"labels", module.labels},
               {"gradients", module.gradients}, {"seed", std::to_string(module.seed)}};
  if (module.library_init) json["library_init"] = true;  // stored cases keep their names
  return json;
}

ModuleConfig module_from(const Json& json, const std::string& place) {
  const JsonReader reader(json, place);
  reader.only({"module", "config", "dtype", "batch", "length", "labels", "gradients", "seed",
               "library_init"});
  ModuleConfig module;
  module.module = reader.at("module").string(256);
  if (const auto config = reader.find("config")) module.config = read_config(*config);
  if (const auto dtype = reader.find("dtype")) module.dtype = dtype->string(64);
  if (const auto batch = reader.find("batch")) module.batch = batch->integer();
  if (const auto length = reader.find("length")) module.length = length->integer();
  if (const auto labels = reader.find("labels")) module.labels = labels->boolean();
  if (const auto gradients = reader.find("gradients")) module.gradients = gradients->boolean();
  if (const auto seed = reader.find("seed")) module.seed = seed->unsigned_integer();
  if (const auto init = reader.find("library_init")) module.library_init = init->boolean();
  check_module(module, place);
  return module;
}

}  // namespace ulpfuzz
