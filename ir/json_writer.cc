#include "ir/json_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <nlohmann/json.hpp>

#include "ir/json.h"

namespace ulpfuzz {
namespace {

// Stands in a string as it is.
bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

template <class T>
void append_number(std::string& text, T value) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end);
}

}  // namespace

// A comma, unless this is the first of its object or array, or follows a key.
void JsonWriter::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

void JsonWriter::begin_object() {
  separate();
  text_ += '{';
  keys_.emplace_back();
}

void JsonWriter::end_object() {
  text_ += '}';
  keys_.pop_back();
}

void JsonWriter::begin_array() {
  separate();
  text_ += '[';
}

void JsonWriter::end_array() { text_ += ']'; }

JsonWriter& JsonWriter::key(std::string_view key) {
  assert(text_.back() == '{' || keys_.back() < key);
  keys_.back() = key;
  string(key);
  text_ += ':';
  return *this;
}

void JsonWriter::null() {
  separate();
  text_ += "null";
}

void JsonWriter::boolean(bool value) {
  separate();
  text_ += value ? "true" : "false";
}

void JsonWriter::integer(std::int64_t value) {
  separate();
  append_number(text_, value);
}

void JsonWriter::string(std::string_view value) {
  separate();
  if (!std::all_of(value.begin(), value.end(), is_plain)) {
    text_ += canonical(Json(value));
    return;
  }
  text_ += '"';
  text_ += value;
  text_ += '"';
}

void JsonWriter::digits(std::int64_t value) {
  separate();
  text_ += '"';
  append_number(text_, value);
  text_ += '"';
}

void JsonWriter::digits(std::uint64_t value) {
  separate();
  text_ += '"';
  append_number(text_, value);
  text_ += '"';
}

void JsonWriter::bits(double value) { string(float_bits(value)); }

}  // namespace ulpfuzz
