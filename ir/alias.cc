#include "ir/alias.h"

#include <algorithm>

#include "ir/error.h"

namespace ulpfuzz {

Aliases::Aliases(const Program& program, const OpTable& table) {
  for (const Node& node : program.nodes) {
    definitions_.try_emplace(node.name, Definition{&node, &table.at(node.op)});
  }
}

std::optional<Aliases::Source> Aliases::source(const Ref& value) const {
  const auto found = definitions_.find(value.name);
  if (found == definitions_.end()) return std::nullopt;
  const auto [node, op] = found->second;
  const auto is_earlier = [&, self = node](const Ref& ref) {
    const auto defined = definitions_.find(ref.name);
    return defined == definitions_.end() || defined->second.node < self;
  };
  const std::vector<SchemaArgument>& returns = op->schema.returns;
  if (returns.empty()) return std::nullopt;
  // All outputs of a list are described by its one entry.
  const std::size_t index = std::min(static_cast<std::size_t>(value.output), returns.size() - 1);
  if (returns[index].alias.empty()) return std::nullopt;
  for (const SchemaArgument& arg : op->schema.args) {
    if (arg.alias != returns[index].alias) continue;
    const Argument* given = node->find(arg.name);
    const auto* ref = given == nullptr ? nullptr : std::get_if<Ref>(given);
    if (ref == nullptr || !is_earlier(*ref)) continue;
    const How how = arg.writes ? How::kSame : op->row->numerics.is_view ? How::kView : How::kMaybe;
    return Source{*ref, how, node, op};
  }
  return std::nullopt;
}

Ref Aliases::tensor(Ref value) const {
  for (auto from = source(value); from && from->how == How::kSame; from = source(value)) {
    value = from->value;
  }
  return value;
}

Ref Aliases::storage(Ref value) const {
  for (auto from = source(value); from && from->how != How::kMaybe; from = source(value)) {
    value = from->value;
  }
  return value;
}

Ref Aliases::origin(Ref value) const {
  for (auto from = source(value); from; from = source(value)) value = from->value;
  return value;
}

const Ref* Aliases::written(const Node& node) const {
  const auto found = definitions_.find(node.name);
  if (found == definitions_.end()) return nullptr;
  for (const SchemaArgument& arg : found->second.op->schema.args) {
    if (!arg.writes) continue;
    if (const Argument* given = node.find(arg.name)) return std::get_if<Ref>(given);
  }
  return nullptr;
}

std::string out_of_place(std::string_view op) {
  const std::size_t overload = op.rfind('.');
  if (overload == op.npos || overload == 0 || op[overload - 1] != '_') return "";
  return std::string(op.substr(0, overload - 1)) + std::string(op.substr(overload));
}

}  // namespace ulpfuzz
