#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz {

// What came of a source.
struct Imported {
  Case test;
  std::string kind;                // "config", "family", "pt2", "minifier", "python"
  std::vector<std::string> notes;  // what was not taken, or taken otherwise, one line each
};

// What a user sets beside a source: field -> value, as written.
using Settings = std::map<std::string, std::string>;

// Of "field=value" each. Throws Error at "--set" for another form, and for a field given twice.
Settings parse_settings(const std::vector<std::string>& words);

// The value of a field as text, of the type that `like` has: true, false; an integer; a number; a
// text. Throws Error at "--set FIELD".
ConfigValue setting_value(const std::string& field, const std::string& text,
                          const ConfigValue& like);

}  // namespace ulpfuzz
