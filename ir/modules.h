#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/case.h"

namespace ulpfuzz {

// One field of a module's configuration class that a case may give, under the library's name.
struct ModuleField {
  std::string_view name;
  ConfigValue smallest;                          // where reduction leads; its type is the field's
  std::int64_t low = 1, high = 0;                // of an integer; high 0: kLargestSize
  std::span<const std::string_view> texts = {};  // what a text may be
  std::string_view meaning = {};
};
constexpr std::int64_t kLargestSize = std::int64_t{1} << 22;

// A module that a case may name. What is not in this list never reaches a library; the Python
// host has the same list again, with how each is built and called (systems/python/modules.py).
struct ModuleKind {
  std::string_view name;  // "transformers.Qwen2ForCausalLM"
  std::span<const ModuleField> fields;
};
std::span<const ModuleKind> module_kinds();
const ModuleKind& module_kind(std::string_view name);  // throws Error

// Throws Error, a JSON pointer under `place`, for a module or field that is not in the list, and
// for a value out of its range. Whether the fields go together is the library's to say.
void check_module(const ModuleConfig& config, const std::string& place);

}  // namespace ulpfuzz
