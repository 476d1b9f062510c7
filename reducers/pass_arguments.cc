#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {

std::vector<Case> argument_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c)) return {};
  std::vector<Case> candidates;
  for (std::size_t n = 0; n < c.program.nodes.size(); ++n) {
    const Node& node = c.program.nodes[n];
    const Op& op = table.at(node.op);
    for (std::size_t a = 0; a < node.args.size(); ++a) {
      const SchemaArgument* schema = op.schema.find(node.args[a].name);
      if (schema == nullptr || !schema->default_value) continue;
      Case candidate = c;
      std::vector<NamedArgument>& args = candidate.program.nodes[n].args;
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(a));
      if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
        candidates.push_back(std::move(*tidied));
      }
    }
  }
  return candidates;
}

}  // namespace ulpfuzz
