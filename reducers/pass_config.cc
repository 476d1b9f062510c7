#include <algorithm>
#include <set>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

using Value = decltype(ModelConfig::fields)::mapped_type;

// Values between the smallest one and the present one, smallest first.
std::vector<Value> smaller_values(const Value& present, const Value& smallest) {
  std::vector<Value> values;
  if (present == smallest || present.index() != smallest.index()) return values;
  values.push_back(smallest);
  if (const auto* now = std::get_if<std::int64_t>(&present)) {
    const std::int64_t least = std::get<std::int64_t>(smallest);
    std::set<std::int64_t> between;
    for (std::int64_t v = least + 1; v < *now; v = least + (v - least) * 2) between.insert(v);
    between.insert(*now / 2);
    between.insert(*now - 1);
    for (const std::int64_t v : between) {
      if (v > least && v < *now) values.emplace_back(v);
    }
  }
  return values;
}

}  // namespace

std::vector<Case> config_candidates(const Case& c, const OpTable& table) {
  std::vector<Case> candidates;
  if (!c.model) return candidates;
  const Family& recipe = family(c.model->family);
  const auto propose = [&](const ModelConfig& config) {
    try {
      Case built = recipe.build(config);
      built.environment = c.environment;
      verify(built, table);
      candidates.push_back(std::move(built));
    } catch (const Error&) {
      // fields that do not go together
    }
  };
  ModelConfig all = *c.model;
  for (const ConfigField& field : recipe.fields) {
    all.fields[std::string(field.name)] = field.smallest;
  }
  propose(all);
  for (const ConfigField& field : recipe.fields) {
    const auto it = c.model->fields.find(std::string(field.name));
    if (it == c.model->fields.end()) continue;
    for (const Value& value : smaller_values(it->second, field.smallest)) {
      ModelConfig config = *c.model;
      config.fields[it->first] = value;
      propose(config);
    }
  }
  return candidates;
}

std::vector<Case> lowering_candidates(const Case& c, const OpTable&) {
  if (!c.model) return {};
  Case lowered = c;
  lowered.model.reset();
  return {lowered};
}

}  // namespace ulpfuzz
