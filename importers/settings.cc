#include <charconv>
#include <type_traits>

#include "importers/imported.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

template <class T>
T number(const std::string& field, const std::string& text, const char* what) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) {
    throw Error("--set " + field, "'" + text + "' is not " + what);
  }
  return value;
}

bool truth(const std::string& field, const std::string& text) {
  if (text == "true" || text == "True" || text == "1") return true;
  if (text == "false" || text == "False" || text == "0") return false;
  throw Error("--set " + field, "'" + text + "' is neither true nor false");
}

}  // namespace

Settings parse_settings(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error("--set", "'" + word + "' is not FIELD=VALUE");
    }
    const std::string field = word.substr(0, equals);
    if (!settings.emplace(field, word.substr(equals + 1)).second) {
      throw Error("--set", field + " is given twice");
    }
  }
  return settings;
}

ConfigValue setting_value(const std::string& field, const std::string& text,
                          const ConfigValue& like) {
  return std::visit(
      [&](const auto& value) -> ConfigValue {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          return truth(field, text);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return number<std::int64_t>(field, text, "an integer");
        } else if constexpr (std::is_same_v<T, double>) {
          return number<double>(field, text, "a number");
        } else {
          return text;
        }
      },
      like);
}

}  // namespace ulpfuzz
