#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generators/draw.h"
#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// One field of a family's configuration.
struct ConfigField {
  std::string_view name;
  std::variant<bool, std::int64_t, double, std::string> smallest;  // where reduction leads
  std::string_view meaning;
};

// A family of models: a recipe that makes a pre_dispatch Program from a configuration. Adding one
// is one entry in family.cc.
struct Family {
  std::string_view name;
  std::span<const ConfigField> fields;
  ModelConfig (*draw)(Random& random);
  // Throws Error naming the field whose value does not go with the others.
  Case (*build)(const ModelConfig& config);
};

std::span<const Family> families();
const Family& family(std::string_view name);  // throws Error

// A case that has only `model` gets its program, inputs, wrt and cotangents; its environment stays.
// A case that has a program is returned as it is.
Case lower(const Case& c);

}  // namespace ulpfuzz
