// What builds a program: a model's configuration, a library's module.
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"
#include "ir/modules.h"

namespace ulpfuzz {
namespace {

using Fields = std::map<std::string, ConfigValue>;

void write_config(JsonWriter& out, const Fields& fields) {
  out.begin_object();
  for (const auto& [field, value] : fields) {
    out.key(field);
    if (const auto* number = std::get_if<double>(&value)) {
      out.begin_object();
      out.key("float").bits(*number);
      out.end_object();
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      if (std::abs(static_cast<double>(*integer)) < 0x1p53) {
        out.integer(*integer);
      } else {
        out.begin_object();
        out.key("int").digits(*integer);
        out.end_object();
      }
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      out.string(*text);
    } else {
      out.boolean(std::get<bool>(value));
    }
  }
  out.end_object();
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

void write(JsonWriter& out, const ModelConfig& model) {
  out.begin_object();
  write_config(out.key("config"), model.fields);
  out.key("family").string(model.family);
  out.end_object();
}

Json json_of(const ModelConfig& model) { return Json::parse(canonical_text(model)); }

ModelConfig model_from(const JsonReader& reader) {
  reader.only({"family", "config"});
  return {reader.at("family").string(256), read_config(reader.at("config"))};
}

void write(JsonWriter& out, const ModuleConfig& module) {
  out.begin_object();
  out.key("batch").integer(module.batch);
  write_config(out.key("config"), module.config);
  out.key("dtype").string(module.dtype);
  out.key("gradients").boolean(module.gradients);
  out.key("labels").boolean(module.labels);
  out.key("length").integer(module.length);
  if (module.library_init) out.key("library_init").boolean(true);  // stored cases keep their names
  out.key("module").string(module.module);
  out.key("seed").digits(module.seed);
  out.end_object();
}

Json json_of(const ModuleConfig& module) { return Json::parse(canonical_text(module)); }

ModuleConfig module_from(const JsonReader& reader) {
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
  check_module(module, reader.place());
  return module;
}

}  // namespace ulpfuzz
