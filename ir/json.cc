#include "ir/json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

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

}  // namespace

Json parse_json(std::string_view text, const std::string& place) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (static_cast<std::size_t>(std::max(depth, 0)) > kMaxNesting) {
      throw Error(place, "nested deeper than " + std::to_string(kMaxNesting));
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw Error(place, "key " + canonical(parsed) + " stands twice in an object");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    throw Error(place, "not JSON at " + position(text, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const Json::exception&) {
    throw Error(place, "not JSON: a number is out of range");
  }
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
