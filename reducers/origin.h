#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/case.h"

// What a case's program is built from, a model's configuration or a library's module, as one list
// of fields.
namespace ulpfuzz {

struct OriginField {
  std::string name;
  ConfigValue smallest;  // where reduction leads
};
using OriginFields = std::map<std::string, ConfigValue>;

// For a case that has_origin(): the fields that there may be, and those that are given. Of a module
// they are those of its configuration, and its call's (batch, length, ...).
std::vector<OriginField> origin_fields(const Case& c);
OriginFields origin_values(const Case& c);

// The case that has only its origin, with these fields, and its environment. Throws Error for a
// value that no module takes.
Case with_origin_values(const Case& c, const OriginFields& fields);

// How far it is from its smallest values: numbers by distance, others by 1; a field at a library's
// default counts as far as numbers go.
std::int64_t origin_weight(const Case& c);

}  // namespace ulpfuzz
