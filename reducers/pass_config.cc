#include <algorithm>
#include <set>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

using Value = decltype(ModelConfig::fields)::mapped_type;

// Values between the smallest one and the present one, smallest first: all small numbers, then
// steps that double, and what divides the present value (head counts must divide each other).
std::vector<Value> smaller_values(const Value& present, const Value& smallest) {
  std::vector<Value> values;
  if (present == smallest || present.index() != smallest.index()) return values;
  values.push_back(smallest);
  const auto* now = std::get_if<std::int64_t>(&present);
  if (now == nullptr) return values;
  const std::int64_t least = std::get<std::int64_t>(smallest);
  std::set<std::int64_t> between{*now - 1};
  for (std::int64_t v = least + 1; v < *now && v <= least + 16; ++v) between.insert(v);
  for (std::int64_t step = 16; least + step < *now; step *= 2) between.insert(least + step);
  for (std::int64_t divisor = 2; divisor <= 16; ++divisor) between.insert(*now / divisor);
  for (const std::int64_t v : between) {
    if (v > least && v < *now) values.emplace_back(v);
  }
  return values;
}

using Fields = decltype(ModelConfig::fields);

// Two numbers that must change together: both at the smallest value, both halved, or the same.
std::vector<Fields> pairs(const Fields& fields, const Family& recipe) {
  std::vector<Fields> result;
  for (std::size_t i = 0; i < recipe.fields.size(); ++i) {
    for (std::size_t j = i + 1; j < recipe.fields.size(); ++j) {
      const auto a = fields.find(std::string(recipe.fields[i].name));
      const auto b = fields.find(std::string(recipe.fields[j].name));
      if (a == fields.end() || b == fields.end()) continue;
      const auto* x = std::get_if<std::int64_t>(&a->second);
      const auto* y = std::get_if<std::int64_t>(&b->second);
      if (x == nullptr || y == nullptr) continue;
      const auto add = [&](const Value& first, const Value& second) {
        Fields changed = fields;
        changed[a->first] = first;
        changed[b->first] = second;
        result.push_back(std::move(changed));
      };
      add(recipe.fields[i].smallest, recipe.fields[j].smallest);
      const std::int64_t least_x = std::get<std::int64_t>(recipe.fields[i].smallest);
      const std::int64_t least_y = std::get<std::int64_t>(recipe.fields[j].smallest);
      if (*x > least_x && *y > least_y) {
        add(std::max(least_x, *x / 2), std::max(least_y, *y / 2));
      }
      const std::int64_t same = std::max({std::min(*x, *y), least_x, least_y});
      if (same < std::max(*x, *y)) add(same, same);
    }
  }
  return result;
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
  for (Fields& fields : pairs(c.model->fields, recipe)) {
    ModelConfig config = *c.model;
    config.fields = std::move(fields);
    propose(config);
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
