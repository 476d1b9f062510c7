#include <array>

#include "ir/verify.h"
#include "reducers/edit.h"
#include "reducers/passes.h"
#include "reducers/plain.h"

namespace ulpfuzz {

// Each node by the plainest operator that takes the same tensors and gives the same type: where a
// fault needs some reduction or some elementwise operator, a reader should not look for more in it.
std::vector<Case> operator_candidates(const Case& c, const OpTable& table) {
  std::vector<Case> candidates;
  if (has_origin(c)) return candidates;
  const Types types = verify(c.program, table);
  for (std::size_t n = 0; n < c.program.nodes.size(); ++n) {
    const Node& node = c.program.nodes[n];
    if (types.outputs(node.name) != 1 || node.op.ends_with("_.default")) continue;
    for (const std::string_view plain : plain_operators()) {
      const Op* op = table.find(plain);
      if (op == nullptr || operator_weight(plain) >= operator_weight(node.op)) continue;
      Case candidate = c;
      Node& changed = candidate.program.nodes[n];
      changed.op = std::string(plain);
      // Arguments that the plain operator does not know are left out.
      std::erase_if(changed.args,
                    [&](const NamedArgument& arg) { return op->schema.find(arg.name) == nullptr; });
      if (operands(changed).size() != operands(node).size()) continue;
      std::optional<Case> tidied = tidy(std::move(candidate), table);
      if (!tidied || tidied->program.nodes.size() != c.program.nodes.size()) continue;
      if (verify(tidied->program, table).of({node.name, 0}) != types.of({node.name, 0})) continue;
      candidates.push_back(std::move(*tidied));
    }
  }
  return candidates;
}

}  // namespace ulpfuzz
