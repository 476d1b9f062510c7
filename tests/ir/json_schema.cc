#include "tests/ir/json_schema.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <stdexcept>

namespace ulpfuzz {
namespace {

using Json = nlohmann::json;

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return value.type_name() == type;  // null, boolean, string, array, object
}

std::string type_error(const Json& wanted, const Json& value, const std::string& at) {
  const Json types = wanted.is_array() ? wanted : Json::array({wanted});
  const bool fits = std::any_of(types.begin(), types.end(), [&](const Json& type) {
    return has_type(value, type.get<std::string>());
  });
  return fits ? "" : at + ": is not " + wanted.dump();
}

std::string limit_error(const std::string& key, double limit, const Json& value,
                        const std::string& at) {
  const bool is_least = key.starts_with("min");
  double size = 0;
  if (key.ends_with("imum")) {
    if (!value.is_number()) return "";
    size = value.get<double>();
  } else if (value.is_array() == key.ends_with("Items")) {
    size = static_cast<double>(value.size());
  } else {
    return "";
  }
  return (is_least ? size >= limit : size <= limit) ? "" : at + ": breaks " + key;
}

std::string required_error(const Json& keys, const Json& value, const std::string& at) {
  if (!value.is_object()) return "";
  for (const Json& key : keys) {
    if (!value.contains(key.get<std::string>())) return at + ": lacks " + key.dump();
  }
  return "";
}

}  // namespace

JsonSchemas::JsonSchemas(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().ends_with(".schema.json")) continue;
    std::ifstream file(entry.path());
    documents_[entry.path().filename()] = Json::parse(file);
  }
}

std::string JsonSchemas::check(const std::string& schema, const Json& value) const {
  return check(schema, documents_.at(schema), value, "");
}

std::string JsonSchemas::check(const std::string& file, const Json& schema, const Json& value,
                               const std::string& at) const {
  if (schema.is_boolean()) return schema.get<bool>() ? "" : at + ": may not be here";
  for (const auto& [key, constraint] : schema.items()) {
    const std::string error = keyword(file, schema, key, value, at);
    if (!error.empty()) return error;
  }
  return "";
}

std::string JsonSchemas::keyword(const std::string& file, const Json& schema,
                                 const std::string& key, const Json& value,
                                 const std::string& at) const {
  static const std::vector<std::string> kNotes = {"$schema", "$id", "$defs", "title",
                                                  "description"};
  if (std::find(kNotes.begin(), kNotes.end(), key) != kNotes.end()) return "";
  const Json& constraint = schema.at(key);
  if (key == "$ref") return reference(file, constraint.get<std::string>(), value, at);
  if (key == "type") return type_error(constraint, value, at);
  if (key == "const") return value == constraint ? "" : at + ": is not " + constraint.dump();
  if (key == "enum") {
    const bool found = std::find(constraint.begin(), constraint.end(), value) != constraint.end();
    return found ? "" : at + ": is not one of " + constraint.dump();
  }
  if (key == "pattern") {
    const bool matches =
        !value.is_string() ||
        std::regex_search(value.get<std::string>(), std::regex(constraint.get<std::string>()));
    return matches ? "" : at + ": does not match " + constraint.dump();
  }
  if (key == "uniqueItems") {
    const bool unique =
        !value.is_array() || std::set(value.begin(), value.end()).size() == value.size();
    return unique || !constraint.get<bool>() ? "" : at + ": has an item twice";
  }
  if (key == "required") return required_error(constraint, value, at);
  if (key == "properties" || key == "additionalProperties") {
    return members(file, schema, value, at);
  }
  if (key == "items") {
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
      const std::string error = check(file, constraint, value[i], at + "/" + std::to_string(i));
      if (!error.empty()) return error;
    }
    return "";
  }
  if (key == "anyOf")
    return matching(file, constraint, value, at) > 0 ? "" : at + ": fits no anyOf";
  if (key == "oneOf") {
    return matching(file, constraint, value, at) == 1 ? "" : at + ": fits none or several of oneOf";
  }
  if (key.starts_with("min") || key.starts_with("max")) {
    return limit_error(key, constraint.get<double>(), value, at);
  }
  throw std::logic_error("unknown keyword " + key);
}

std::string JsonSchemas::reference(const std::string& file, const std::string& target,
                                   const Json& value, const std::string& at) const {
  const std::size_t hash = std::min(target.find('#'), target.size());
  const std::string document = hash == 0 ? file : target.substr(0, hash);
  const std::string pointer = hash < target.size() ? target.substr(hash + 1) : "";
  return check(document, documents_.at(document).at(Json::json_pointer(pointer)), value, at);
}

std::string JsonSchemas::members(const std::string& file, const Json& schema, const Json& value,
                                 const std::string& at) const {
  if (!value.is_object()) return "";
  for (const auto& [key, member] : value.items()) {
    const bool named = schema.contains("properties") && schema["properties"].contains(key);
    const Json& rule = named                                     ? schema["properties"][key]
                       : schema.contains("additionalProperties") ? schema["additionalProperties"]
                                                                 : Json(true);
    const std::string error = check(file, rule, member, at + "/" + key);
    if (!error.empty()) return error;
  }
  return "";
}

int JsonSchemas::matching(const std::string& file, const Json& alternatives, const Json& value,
                          const std::string& at) const {
  return static_cast<int>(std::count_if(
      alternatives.begin(), alternatives.end(),
      [&](const Json& alternative) { return check(file, alternative, value, at).empty(); }));
}

}  // namespace ulpfuzz
