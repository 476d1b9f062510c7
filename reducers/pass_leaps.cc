#include <algorithm>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "reducers/origin.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// Beyond, intermediate values are too many to be carried into a part of the program, and a run of
// the whole costs more than a few runs of small models.
constexpr std::int64_t kLargeElements = 1 << 14;
constexpr std::size_t kManyNodes = 200;

bool is_large(const Case& c) {
  if (c.program.nodes.size() > kManyNodes) return true;
  return std::ranges::any_of(c.program.inputs, [&](const ProgramInput& input) {
    std::int64_t n = 1;
    for (const Dim& dim : input.shape) n *= dim.value(c.program.symbols);
    return n > kLargeElements;
  });
}

}  // namespace

// All fields of a large model or module at their smallest values, then all numbers by one factor,
// which leaves head counts and widths divisible by each other.
std::vector<Case> leap_candidates(const Case& c, const OpTable& table) {
  std::vector<Case> candidates;
  if (!has_origin(c) || !is_large(c)) return candidates;
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
  OriginFields smallest = fields;
  for (const OriginField& field : known) {
    if (smallest.contains(field.name)) smallest[field.name] = field.smallest;
  }
  propose(smallest);
  for (const std::int64_t factor : {64, 16, 4, 2}) {
    OriginFields changed = fields;
    for (const OriginField& field : known) {
      const auto it = changed.find(field.name);
      const auto* least = std::get_if<std::int64_t>(&field.smallest);
      if (it == changed.end() || least == nullptr) continue;
      auto* value = std::get_if<std::int64_t>(&it->second);
      if (value != nullptr) *value = std::max(std::min(*least, *value), *value / factor);
    }
    propose(changed);
  }
  return candidates;
}

}  // namespace ulpfuzz
