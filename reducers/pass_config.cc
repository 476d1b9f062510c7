#include <algorithm>
#include <set>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "reducers/origin.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// Values between the smallest one and the present one, smallest first: all small numbers, then
// steps that double, and what divides the present value (head counts must divide each other).
std::vector<ConfigValue> smaller_values(const ConfigValue& present, const ConfigValue& smallest) {
  std::vector<ConfigValue> values;
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

// Two numbers that must change together: both at the smallest value, both halved, or the same.
std::vector<OriginFields> pairs(const OriginFields& fields, const std::vector<OriginField>& known) {
  std::vector<OriginFields> result;
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (std::size_t j = i + 1; j < known.size(); ++j) {
      const auto a = fields.find(known[i].name);
      const auto b = fields.find(known[j].name);
      if (a == fields.end() || b == fields.end()) continue;
      const auto* x = std::get_if<std::int64_t>(&a->second);
      const auto* y = std::get_if<std::int64_t>(&b->second);
      if (x == nullptr || y == nullptr) continue;
      const auto add = [&](const ConfigValue& first, const ConfigValue& second) {
        OriginFields changed = fields;
        changed[a->first] = first;
        changed[b->first] = second;
        result.push_back(std::move(changed));
      };
      const std::int64_t least_x = std::get<std::int64_t>(known[i].smallest);
      const std::int64_t least_y = std::get<std::int64_t>(known[j].smallest);
      if (*x > least_x && *y > least_y) {
        add(known[i].smallest, known[j].smallest);
        add(std::max(least_x, *x / 2), std::max(least_y, *y / 2));
      }
      const std::int64_t same = std::max({std::min(*x, *y), least_x, least_y});
      if (same < std::max(*x, *y)) add(same, same);
    }
  }
  return result;
}

}  // namespace

// Of a module the candidates have no program yet: it is captured when they are tried.
std::vector<Case> config_candidates(const Case& c, const OpTable& table) {
  std::vector<Case> candidates;
  if (!has_origin(c)) return candidates;
  const std::vector<OriginField> known = origin_fields(c);
  const OriginFields fields = origin_values(c);
  const auto propose = [&](const OriginFields& changed) {
    try {
      Case built = lower(with_origin_values(c, changed));
      if (is_lowered(built)) verify(built, table);
      candidates.push_back(std::move(built));
    } catch (const Error&) {
      // fields that do not go together
    }
  };
  OriginFields all = fields;
  for (auto& [name, value] : all) {
    const auto field = std::ranges::find(known, name, &OriginField::name);
    if (field != known.end()) value = field->smallest;
  }
  propose(all);
  for (const OriginField& field : known) {
    OriginFields changed = fields;
    const auto it = fields.find(field.name);
    if (it == fields.end()) {
      changed[field.name] = field.smallest;  // in place of a library's default
      propose(changed);
      continue;
    }
    for (const ConfigValue& value : smaller_values(it->second, field.smallest)) {
      changed[field.name] = value;
      propose(changed);
    }
  }
  for (const OriginFields& changed : pairs(fields, known)) propose(changed);
  return candidates;
}

std::vector<Case> lowering_candidates(const Case& c, const OpTable&) {
  if (!has_origin(c)) return {};
  Case lowered = c;
  lowered.model.reset();
  lowered.module.reset();
  return {lowered};
}

}  // namespace ulpfuzz
