#include "ir/json_reader.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "ir/json.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kMaxDims = 64;

// A key as a token of a JSON pointer (RFC 6901).
std::string token(std::string_view key) {
  std::string text = "/";
  for (const char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

// Puts the pointer from `root` to `value` behind `pointer`; false, and nothing, when it is not
// below.
bool locate(const nlohmann::json& root, const nlohmann::json& value, std::string& pointer) {
  if (&root == &value) return true;
  if (!root.is_structured()) return false;
  const std::size_t length = pointer.size();
  std::size_t index = 0;
  for (auto at = root.begin(); at != root.end(); ++at, ++index) {
    pointer += root.is_object() ? token(at.key()) : "/" + std::to_string(index);
    if (locate(*at, value, pointer)) return true;
    pointer.resize(length);
  }
  return false;
}

template <class T>
std::optional<T> digits(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string JsonReader::place() const {
  std::string place = document_->place;
  locate(*document_->root, *json_, place);
  return place;
}

void JsonReader::fail(const std::string& message) const { throw Error(place(), message); }

void JsonReader::only(std::initializer_list<std::string_view> allowed) const {
  if (!json_->is_object()) fail("an object is wanted here");
  for (const auto& [key, value] : json_->get_ref<const nlohmann::json::object_t&>()) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      std::string list;
      for (const std::string_view name : allowed) {
        list += (list.empty() ? "" : ", ") + std::string(name);
      }
      throw Error(place() + token(key), "unknown key; here may stand: " + list);
    }
  }
}

JsonReader JsonReader::at(std::string_view key) const {
  const std::optional<JsonReader> found = find(key);
  if (!found) fail("'" + std::string(key) + "' is missing");
  return *found;
}

std::optional<JsonReader> JsonReader::find(std::string_view key) const {
  if (!json_->is_object()) fail("an object is wanted here");
  const auto found = json_->find(key);
  if (found == json_->end()) return std::nullopt;
  return JsonReader(*found, document_);
}

std::vector<std::string> JsonReader::keys() const {
  if (!json_->is_object()) fail("an object is wanted here");
  std::vector<std::string> keys;
  for (const auto& [key, value] : json_->get_ref<const nlohmann::json::object_t&>()) {
    keys.push_back(key);
  }
  return keys;
}

std::pair<std::string, JsonReader> JsonReader::single() const {
  if (!json_->is_object() || json_->size() != 1) fail("an object of one member is wanted here");
  return {json_->begin().key(), JsonReader(json_->begin().value(), document_)};
}

std::vector<JsonReader> JsonReader::elements(std::size_t limit) const {
  if (!json_->is_array()) fail("an array is wanted here");
  if (json_->size() > limit) fail("more than " + std::to_string(limit) + " elements");
  std::vector<JsonReader> elements;
  elements.reserve(json_->size());
  for (std::size_t i = 0; i < json_->size(); ++i) {
    elements.push_back(JsonReader((*json_)[i], document_));
  }
  return elements;
}

bool JsonReader::is_null() const { return json_->is_null(); }

bool JsonReader::boolean() const {
  if (!json_->is_boolean()) fail("true or false is wanted here");
  return json_->get<bool>();
}

std::int64_t JsonReader::integer() const {
  if (json_->is_number_unsigned()) {
    const auto value = json_->get<std::uint64_t>();
    if (value <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(value);
  } else if (json_->is_number_integer()) {
    return json_->get<std::int64_t>();
  } else if (json_->is_string()) {
    if (const auto value = digits<std::int64_t>(json_->get_ref<const std::string&>())) {
      return *value;
    }
  }
  fail("an integer of 64 bits is wanted here");
}

std::int64_t JsonReader::integer_in(std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer();
  if (value < low || value > high) {
    fail(std::to_string(value) + " is not in [" + std::to_string(low) + ", " +
         std::to_string(high) + "]");
  }
  return value;
}

std::uint64_t JsonReader::unsigned_integer() const {
  if (json_->is_number_unsigned()) return json_->get<std::uint64_t>();
  if (json_->is_string()) {
    if (const auto value = digits<std::uint64_t>(json_->get_ref<const std::string&>())) {
      return *value;
    }
  }
  fail("an unsigned integer of 64 bits is wanted here");
}

double JsonReader::floating() const {
  if (json_->is_number()) return json_->get<double>();
  if (json_->is_string()) {
    if (const auto value = parse_float_bits(json_->get_ref<const std::string&>())) return *value;
  }
  fail("a number is wanted here, or the 16 hex digits of its IEEE bits");
}

std::string JsonReader::string(std::size_t limit) const {
  if (!json_->is_string()) fail("a string is wanted here");
  const auto& text = json_->get_ref<const std::string&>();
  if (text.size() > limit) fail("longer than " + std::to_string(limit) + " bytes");
  return text;
}

DType JsonReader::dtype() const {
  const std::string text = string();
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype) fail("unknown dtype " + canonical(text) + "; known are float32, bfloat16, ...");
  return *dtype;
}

Dim JsonReader::dim() const {
  if (!json_->is_string()) return Dim(integer());
  try {
    return parse_dim(string());
  } catch (const Error& error) {
    fail(error.what());
  }
}

std::vector<Dim> JsonReader::dims() const {
  std::vector<Dim> dims;
  for (const JsonReader& element : elements(kMaxDims)) dims.push_back(element.dim());
  return dims;
}

Shape JsonReader::integers(std::size_t limit) const {
  Shape values;
  for (const JsonReader& element : elements(limit)) values.push_back(element.integer());
  return values;
}

}  // namespace ulpfuzz
