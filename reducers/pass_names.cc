#include <map>

#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// x, y, z, then x3, x4, ...; a, b, c, ... for nodes.
std::string input_name(std::size_t i) {
  return i < 3 ? std::string(1, static_cast<char>('x' + i)) : "x" + std::to_string(i);
}
std::string node_name(std::size_t i) {
  return i < 20 ? std::string(1, static_cast<char>('a' + i)) : "a" + std::to_string(i);
}

}  // namespace

std::vector<Case> name_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c)) return {};
  std::map<std::string, std::string> names;
  Case renamed = c;
  for (std::size_t i = 0; i < c.program.inputs.size(); ++i) {
    names[c.program.inputs[i].name] = renamed.program.inputs[i].name = input_name(i);
  }
  for (std::size_t i = 0; i < c.program.nodes.size(); ++i) {
    names[c.program.nodes[i].name] = renamed.program.nodes[i].name = node_name(i);
  }
  const auto rename = [&](const Ref& ref) { return Ref{names.at(ref.name), ref.output}; };
  for (Node& node : renamed.program.nodes) rename_operands(node, rename);
  for (Ref& output : renamed.program.outputs) output = rename(output);
  for (std::string& input : renamed.wrt) input = names.at(input);
  std::vector<Case> candidates;
  if (std::optional<Case> tidied = tidy(std::move(renamed), table)) {
    candidates.push_back(std::move(*tidied));
  }
  return candidates;
}

}  // namespace ulpfuzz
