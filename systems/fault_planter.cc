#include "systems/fault_planter.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {

Planter::Planter(Case bound, const OpTable& table) : case_(std::move(bound)), table_(table) {}

const Types& Planter::types() {
  if (!types_) types_ = verify(case_.program, table_);
  return *types_;
}

std::vector<Ref> Planter::results(const Node& node) {
  std::vector<Ref> all;
  for (int i = 0; i < types().outputs(node.name); ++i) all.push_back({node.name, i});
  return all;
}

std::optional<Ref> Planter::tensor(const Node& node, std::string_view arg) {
  const Argument* given = node.find(arg);
  const Ref* ref = given == nullptr ? nullptr : std::get_if<Ref>(given);
  return ref == nullptr ? std::nullopt : std::optional<Ref>(*ref);
}

void Planter::set(Node& node, const std::string& arg, Argument value) {
  std::vector<NamedArgument> args;
  for (const SchemaArgument& formal : op(node).schema.args) {
    if (formal.name == arg) {
      args.push_back({arg, std::move(value)});
    } else if (const Argument* given = node.find(formal.name)) {
      args.push_back({formal.name, *given});
    }
  }
  node.args = std::move(args);
  types_.reset();
}

void Planter::redirect(const Ref& from, const Ref& to, std::size_t beyond, bool outputs) {
  const auto rename = [&](const Ref& ref) { return ref == from ? to : ref; };
  for (std::size_t i = beyond; i < nodes().size(); ++i) rename_operands(nodes()[i], rename);
  if (outputs) {
    for (Ref& output : case_.program.outputs) output = rename(output);
  }
  types_.reset();
}

Ref Planter::insert(std::size_t at, const std::string& stem, const std::string& op,
                    std::vector<NamedArgument> args) {
  const std::string name = fresh_name(case_.program, stem);
  nodes().insert(nodes().begin() + static_cast<std::ptrdiff_t>(at),
                 Node{name, "aten." + op, std::move(args)});
  types_.reset();
  return {name, 0};
}

bool Planter::feeds(const Node& node, std::string_view op) const {
  return std::ranges::any_of(case_.program.nodes, [&](const Node& user) {
    if (user.op != op) return false;
    const std::vector<Ref> used = operands(user);
    return std::ranges::find(used, Ref{node.name, 0}) != used.end();
  });
}

Case Planter::take() && {
  case_.program = without_dead_code(case_.program, table_);
  return std::move(case_);
}

Ref Insertion::call(const std::string& op, std::vector<NamedArgument> args) {
  return planter_.insert(at_++, stem_ + "_" + std::to_string(++calls_), op, std::move(args));
}

}  // namespace ulpfuzz
