#include <algorithm>
#include <array>
#include <map>

#include "ir/alias.h"
#include "systems/fault_families.h"
#include "systems/fault_planter.h"

// What a program's tensors are kept in.
namespace ulpfuzz {
namespace {

// A compiler gives a result the buffer of a tensor that is dead by then. If the write comes late,
// or not at all, its reader sees what lay there before. So: of the last node that reads a result
// of the program's own, where an earlier one of the same type is not read after that result is
// made, it reads the earlier one.
bool stale_buffer(Planter& p, double /*unused*/) {
  const std::vector<Node>& nodes = p.nodes();
  const Aliases aliases(p.test().program, p.table());
  std::map<Ref, std::size_t> last_read;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Ref& used : operands(nodes[i])) last_read[aliases.origin(used)] = i;
  }
  for (const Ref& output : p.outputs()) last_read[aliases.origin(output)] = nodes.size();
  const auto owns_buffer = [&](const Node& node) {
    return p.op(node).schema.returns.size() == 1 && !aliases.source({node.name, 0});
  };
  for (std::size_t reader = nodes.size(); reader-- > 0;) {
    if (p.op(nodes[reader]).schema.mutates()) continue;
    for (const Ref& used : operands(nodes[reader])) {
      const auto made = std::ranges::find(nodes, used.name, &Node::name);
      if (made == nodes.end() || !owns_buffer(*made)) continue;
      const auto writer = static_cast<std::size_t>(made - nodes.begin());
      for (std::size_t earlier = writer; earlier-- > 0;) {
        const Ref stale{nodes[earlier].name, 0};
        if (!owns_buffer(nodes[earlier]) || last_read[stale] > writer) continue;
        if (p.type(stale) != p.type(used) || !is_floating(p.type(used).dtype)) continue;
        const auto read = [&](const Ref& ref) { return ref == used ? stale : ref; };
        rename_operands(p.nodes()[reader], read);
        return true;
      }
    }
  }
  return false;
}

// Half types come out as float32, float32 as float64, float64 as float32.
bool wrong_dtype(Planter& p, double /*unused*/) {
  for (Ref& output : p.outputs()) {
    const DType dtype = p.type(output).dtype;
    if (!is_floating(dtype)) continue;
    Insertion at_end(p, p.nodes().size(), output.name + "_other");
    output = at_end.cast(output, dtype == DType::kFloat32 ? DType::kFloat64 : DType::kFloat32);
    return true;
  }
  return false;
}

constexpr std::array kFaults{
    Fault{{.name = "stale-buffer",
           .in_program = true,
           .meaning = "the last reader that has such a chance reads a dead tensor of the same type "
                      "in place of the result that took its buffer"},
          &stale_buffer},
    Fault{{.name = "wrong-dtype",
           .in_program = true,
           .meaning = "the first floating output is of another floating type",
           .effect = FaultEffect::kMetadata},
          &wrong_dtype},
};

}  // namespace

std::span<const Fault> buffer_faults() { return kFaults; }

}  // namespace ulpfuzz
