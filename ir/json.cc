#include "ir/json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kMaxNesting = 64;

// Line and column of a byte of `text`, both from 1.
std::string position(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(before.size() - start + 1);
}

// Objects and arrays longer than a line are broken up; others stay whole.
void print(const Json& json, std::size_t indent, std::string& out) {
  const std::string whole = canonical(json);
  if (!json.is_structured() || json.empty() || indent + whole.size() <= 96) {
    out += whole;
    return;
  }
  const std::string pad(indent + 2, ' ');
  out += json.is_object() ? "{\n" : "[\n";
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    if (!std::exchange(first, false)) out += ",\n";
    out += pad;
    if (json.is_object()) out += canonical(key) + ": ";
    print(value, indent + 2, out);
  }
  out += "\n" + std::string(indent, ' ') + (json.is_object() ? "}" : "]");
}

// Makes the document of what nlohmann's parser comes across, and refuses what parse_json() does.
class Builder {
 public:
  Builder(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  Json take() { return std::move(root_); }

  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(std::int64_t value) { return add(value) != nullptr; }
  bool number_unsigned(std::uint64_t value) { return add(value) != nullptr; }
  bool number_float(double value, const std::string&) { return add(value) != nullptr; }
  bool string(std::string& value) { return add(std::move(value)) != nullptr; }
  bool binary(Json::binary_t&) { return false; }  // not in text

  bool start_object(std::size_t) { return open(Json::value_t::object); }
  bool start_array(std::size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& key) {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [member, is_new] = members.try_emplace(std::move(key));
    if (!is_new) {
      throw Error(place_, "key " + canonical(member->first) + " stands twice in an object");
    }
    member_ = &member->second;
    return true;
  }

  [[noreturn]] bool parse_error(std::size_t byte, const std::string&,
                                const Json::exception& error) {
    if (dynamic_cast<const Json::parse_error*>(&error) == nullptr) {
      throw Error(place_, "not JSON: a number is out of range");
    }
    throw Error(place_, "not JSON at " + position(text_, byte > 0 ? byte - 1 : 0));
  }

 private:
  // The value in its place: the root, the member of the key, or an array's next element.
  template <class Value>
  Json* add(Value&& value) {
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    if (open_.back()->is_object()) {
      *member_ = std::forward<Value>(value);
      return member_;
    }
    return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::forward<Value>(value));
  }

  bool open(Json::value_t type) {
    if (open_.size() == kMaxNesting) {
      throw Error(place_, "nested deeper than " + std::to_string(kMaxNesting));
    }
    open_.push_back(add(type));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& place_;
  Json root_;
  std::vector<Json*> open_;  // objects and arrays; what they hold grows in the innermost alone
  Json* member_ = nullptr;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& place) {
  Builder builder(text, place);
  Json::sax_parse(text, &builder);
  return builder.take();
}

std::string canonical(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string pretty(const Json& json) {
  std::string out;
  print(json, 0, out);
  return out + "\n";
}

std::string float_bits(double value) {
  const std::uint64_t bits =
      std::isnan(value) ? 0x7ff8000000000000 : std::bit_cast<std::uint64_t>(value);
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[(bits >> (60 - 4 * i)) & 15];
  return text;
}

std::optional<double> parse_float_bits(std::string_view text) {
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return std::bit_cast<double>(bits);
}

Json report_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string to_string(const Ref& ref) {
  return ref.output == 0 ? ref.name : ref.name + ":" + std::to_string(ref.output);
}

std::string pointer_root(const std::string& place) {
  if (place.empty() || place.find('#') != std::string::npos) return place;
  return place + "#";
}

}  // namespace ulpfuzz
