#include "importers/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "generators/family.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Fields = decltype(ModelConfig::fields);

std::int64_t* integer(Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
}

// What a library's configuration class works out of other fields: name, and the fields it is a
// quotient of, as each library calls them.
struct Quotient {
  const char *name, *of, *by;
};
constexpr Quotient kHeadSizes[] = {{"head_dim", "hidden_size", "num_attention_heads"},
                                   {"head_size", "n_embd", "n_head"}};
// What a step of training has, where the smallest program would leave it out.
struct Usual {
  const char* name;
  ConfigValue value;
};
const std::vector<Usual>& usual() {
  static const std::vector<Usual> fields = {
      {"rope", true},
      {"rotary_percentage", 1.0},
      {"labels", true},
      {"gradients", true},
      {"length", std::int64_t{8}},
      {"head_size", std::int64_t{2}},
      {"vocab_size", std::int64_t{16}},
      {"padded_vocab_size", std::int64_t{16}},
  };
  return fields;
}

ConfigValue unset(const ConfigField& field) {
  const auto found = std::ranges::find(usual(), field.name, &Usual::name);
  return found == usual().end() ? ConfigValue(field.smallest) : found->value;
}

constexpr const char* kPositions[] = {"max_position_embeddings", "max_seq_length"};

void complete(Fields& fields, const Settings& settings) {
  for (const Quotient& q : kHeadSizes) {
    if (settings.contains(q.name) || !settings.contains(q.of)) continue;
    std::int64_t* value = integer(fields, q.name);
    const std::int64_t *of = integer(fields, q.of), *by = integer(fields, q.by);
    if (value == nullptr || of == nullptr || by == nullptr || *by < 1) continue;
    if (*of % *by == 0) *value = *of / *by;
  }
  for (const char* name : kPositions) {
    std::int64_t *value = integer(fields, name), *length = integer(fields, "length");
    if (settings.contains(name) || value == nullptr || length == nullptr) continue;
    *value = std::max(*value, *length);
  }
}

}  // namespace

Imported import_family(const std::string& name, const Settings& settings) {
  const Family& kind = family(name);
  ModelConfig model;
  model.family = name;
  std::string others;
  for (const ConfigField& field : kind.fields) {
    const std::string key(field.name);
    const auto given = settings.find(key);
    model.fields[key] =
        given == settings.end() ? unset(field) : setting_value(key, given->second, field.smallest);
  }
  for (const auto& [key, value] : settings) {
    if (!model.fields.contains(key)) {
      std::string known;
      for (const ConfigField& field : kind.fields) {
        known += (known.empty() ? "" : ", ") + std::string(field.name);
      }
      throw Error("--set " + key, "is not a field of " + name + "; there are " + known);
    }
  }
  complete(model.fields, settings);
  for (const auto& field : model.fields) {
    const std::string& key = field.first;
    if (settings.contains(key)) continue;
    std::visit(
        [&](const auto& v) {
          others += fmt::format("{}{}={}", others.empty() ? "" : ", ", key, v);
        },
        field.second);
  }
  Imported imported{{}, "family", {}};
  if (!others.empty()) imported.notes.push_back("not set: " + others);
  imported.test.model = std::move(model);
  lower(imported.test);  // refuses values that do not go together
  return imported;
}

}  // namespace ulpfuzz
