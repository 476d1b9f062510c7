// Systems as they are written on the command line.
#include <algorithm>
#include <cctype>

#include "ir/error.h"
#include "ir/run.h"

namespace ulpfuzz {
namespace {

bool is_word(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           extra.find(c) != extra.npos;
  });
}

[[noreturn]] void fail(std::string_view text) {
  throw Error("'" + std::string(text.substr(0, 100)) +
              "' is not a system such as eager@cpp, inductor or "
              "inductor[emulate_precision_casts=1]@torch-2.14.0");
}

// "eager@py[...]@env": the name's length. @py and @cpp belong to the name, other @ begin an
// environment.
std::size_t name_length(std::string_view text) {
  std::size_t end = text.find_first_of("@[");
  if (end == text.npos) return text.size();
  for (const std::string_view suffix : {"@py", "@cpp"}) {
    const std::string_view after = text.substr(std::min(end + suffix.size(), text.size()));
    const bool ends = after.empty() || after[0] == '[' || after[0] == '@';
    if (text.substr(end, suffix.size()) == suffix && ends) return end + suffix.size();
  }
  return end;
}

// Splits at commas that are not inside brackets.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      parts.push_back(list.substr(start, i - start));
      start = i + 1;
    } else if (list[i] == '[') {
      ++depth;
    } else if (list[i] == ']') {
      --depth;
    }
  }
  return parts;
}

}  // namespace

SystemSpec parse_system(std::string_view text) {
  const std::string_view whole = text;
  SystemSpec system;
  const std::size_t length = name_length(text);
  system.name = text.substr(0, length);
  if (!is_word(system.name, "@")) fail(whole);
  text.remove_prefix(length);
  if (!text.empty() && text[0] == '[') {
    const std::size_t close = text.find(']');
    if (close == text.npos) fail(whole);
    for (const std::string_view option : split(text.substr(1, close - 1))) {
      const std::size_t equals = option.find('=');
      if (equals == option.npos || !is_word(option.substr(0, equals), ".-")) fail(whole);
      system.options[std::string(option.substr(0, equals))] = option.substr(equals + 1);
    }
    text.remove_prefix(close + 1);
  }
  if (!text.empty()) {
    if (text[0] != '@' || !is_word(text.substr(1), ".+-")) fail(whole);
    system.environment = text.substr(1);
  }
  return system;
}

std::string to_string(const SystemSpec& system) {
  std::string options;
  for (const auto& [option, value] : system.options) {
    options += (options.empty() ? "" : ",") + option + "=" + value;
  }
  std::string text = system.name;
  if (!options.empty()) text += "[" + options + "]";
  if (!system.environment.empty()) text += "@" + system.environment;
  return text;
}

std::vector<SystemSpec> parse_systems(std::string_view list) {
  std::vector<SystemSpec> systems;
  for (const std::string_view part : split(list)) systems.push_back(parse_system(part));
  return systems;
}

}  // namespace ulpfuzz
