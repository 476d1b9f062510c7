#include "ir/op_row.h"

#include <algorithm>
#include <numeric>

#include "ir/error.h"

namespace ulpfuzz {

OpTable::OpTable(std::span<const std::span<const OpRow>> families) {
  for (const auto& family : families) {
    for (const OpRow& row : family) ops_.push_back({parse_schema(row.schema), &row});
  }
  by_name_.resize(ops_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return ops_[a].name() < ops_[b].name(); });
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    const std::string& op = ops_[by_name_[i]].name();
    if (op == ops_[by_name_[i - 1]].name()) throw Error("operator " + op + " has two rows");
  }
}

const Op* OpTable::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::size_t i, std::string_view n) { return ops_[i].name() < n; });
  if (found == by_name_.end() || ops_[*found].name() != name) return nullptr;
  return &ops_[*found];
}

const Op& OpTable::at(std::string_view name) const {
  const Op* op = find(name);
  if (op == nullptr) throw Error("unknown operator '" + std::string(name) + "'");
  return *op;
}

}  // namespace ulpfuzz
