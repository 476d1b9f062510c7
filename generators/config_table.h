#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "generators/family.h"
#include "ir/error.h"

namespace ulpfuzz {

template <class C>
using ConfigMember = std::variant<bool C::*, std::int64_t C::*, double C::*, std::string C::*>;

// Which member of the struct C a field of the family's configuration is.
template <class C>
struct ConfigEntry {
  ConfigField field;
  ConfigMember<C> member;
};

// A family's configuration as a struct: from a ModelConfig and back, and complaints that name the
// field as the family does, whatever the member is called.
template <class C>
class ConfigTable {
 public:
  ConfigTable(std::string_view family, std::vector<ConfigEntry<C>> entries)
      : family_(family), entries_(std::move(entries)) {
    for (const ConfigEntry<C>& entry : entries_) fields_.push_back(entry.field);
  }

  std::span<const ConfigField> fields() const { return fields_; }

  ModelConfig write(const C& c) const {
    ModelConfig model;
    model.family = family_;
    for (const ConfigEntry<C>& entry : entries_) {
      std::visit([&](auto member) { model.fields[std::string(entry.field.name)] = c.*member; },
                 entry.member);
    }
    return model;
  }

  // Every field must be there, with its type, and no other. Throws Error naming the field.
  C read(const ModelConfig& model) const {
    C c;
    for (const ConfigEntry<C>& entry : entries_) {
      const auto given = model.fields.find(std::string(entry.field.name));
      if (given == model.fields.end()) refuse(entry.member, "is missing");
      std::visit(
          [&](auto member) {
            using T = std::remove_cvref_t<decltype(c.*member)>;
            const T* value = std::get_if<T>(&given->second);
            if (value == nullptr) refuse(entry.member, "is of another type");
            c.*member = *value;
          },
          entry.member);
    }
    for (const auto& given : model.fields) {
      const auto is_given = [&](const auto& field) { return field.name == given.first; };
      if (std::ranges::none_of(fields_, is_given)) {
        refuse(given.first, "is not a field of " + std::string(family_));
      }
    }
    return c;
  }

  [[noreturn]] void refuse(const ConfigMember<C>& member, const std::string& message) const {
    refuse(name(member), message);
  }

  // What the family calls a member.
  std::string_view name(const ConfigMember<C>& member) const {
    const auto entry = std::ranges::find(entries_, member, &ConfigEntry<C>::member);
    return entry == entries_.end() ? "" : entry->field.name;
  }

  void at_least(const C& c, std::int64_t C::*member, std::int64_t least) const {
    if (c.*member < least) refuse(member, "must be at least " + std::to_string(least));
  }

 private:
  [[noreturn]] void refuse(std::string_view field, const std::string& message) const {
    throw Error("/model/fields/" + std::string(field), message);
  }

  std::string_view family_;
  std::vector<ConfigEntry<C>> entries_;
  std::vector<ConfigField> fields_;
};

}  // namespace ulpfuzz
