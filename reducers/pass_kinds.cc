#include <set>

#include "reducers/parts.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kFewNodes = 4;  // below, the pass over all nodes is as cheap

// The operator with the dtypes and ranks of what it takes.
std::string kind_of(const Node& node, const Types& types) {
  std::string kind = node.op;
  for (const Ref& ref : operands(node)) {
    const TensorType& type = types.of(ref);
    kind += ' ' + std::string(name(type.dtype)) + std::to_string(type.shape.size());
  }
  return kind;
}

}  // namespace

// Programs repeat few operators many times, and most faults are one operator's: one node of each
// kind is a short list that ends most reductions of a large program at once.
std::vector<Case> kind_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c) || c.program.nodes.size() < kFewNodes) return {};
  Parts parts(c, table);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (seen.insert(kind_of(parts.nodes()[i], parts.types())).second) parts.keep(i, i + 1, true);
  }
  return parts.take();
}

}  // namespace ulpfuzz
