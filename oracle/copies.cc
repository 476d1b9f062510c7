#include <algorithm>
#include <map>
#include <set>

#include "ir/rewrite.h"
#include "ir/verify.h"
#include "oracle/execution.h"
#include "oracle/replay_parts.h"

namespace ulpfuzz::execution {

namespace {

// What the backward pass uses of the forward pass, computed again for it.
class Recomputation {
 public:
  Recomputation(const Program& program, const OpTable& table, Copies& copies)
      : program_(program), table_(table), types_(verify(program, table)), copies_(copies) {
    for (const ProgramInput& input : program.inputs) {
      if (input.name.starts_with("cotangent_")) backward_.insert(input.name);
    }
  }

  Program run() {
    result_ = program_;
    result_.nodes.clear();
    for (const Node& node : program_.nodes) {
      const std::vector<Ref> read = operands(node);
      Node same = node;
      if (std::ranges::any_of(read, [&](const Ref& r) { return backward_.contains(r.name); })) {
        backward_.insert(node.name);
        rename_operands(same, [&](const Ref& ref) { return repeated(ref); });
      }
      result_.nodes.push_back(std::move(same));
    }
    return without_dead_code(result_, table_, false);
  }

 private:
  // The value as the backward pass has it.
  Ref repeated(const Ref& ref) {
    const Node* node = program_.find_node(ref.name);
    if (node == nullptr || backward_.contains(ref.name)) return ref;
    if (const auto found = made_.find(ref.name); found != made_.end()) {
      return {found->second, ref.output};
    }
    const bool stored =
        table_.at(node->op).row->numerics.extern_kernel || is_integral(types_.of(ref).dtype);
    if (stored) return ref;
    Node copy = *node;
    rename_operands(copy, [&](const Ref& operand) { return repeated(operand); });
    copy.name = fresh_name(program_, node->name + "_again");
    made_[ref.name] = copy.name;
    copies_[copy.name] = {node->name, true};
    result_.nodes.push_back(copy);
    return {copy.name, ref.output};
  }

  const Program& program_;
  const OpTable& table_;
  const Types types_;
  Copies& copies_;
  std::map<std::string, std::string> made_;
  std::set<std::string> backward_;
  Program result_;
};

bool reads(const Node& node, const std::string& name) {
  const std::vector<Ref> read = operands(node);
  return std::ranges::any_of(read, [&](const Ref& ref) { return ref.name == name; });
}

// A step with one floating result that is as large as its largest operand.
bool is_cheap(const Node& node, const OpTable& table, const Types& types) {
  if (table.at(node.op).row->numerics.extern_kernel || types.outputs(node.name) != 1) return false;
  const TensorType& result = types.of({node.name, 0});
  if (is_integral(result.dtype)) return false;
  const std::vector<Ref> read = operands(node);
  return !read.empty() && std::ranges::all_of(read, [&](const Ref& ref) {
    return element_count(types.of(ref).shape) <= element_count(result.shape);
  });
}

// Cheap steps, computed for each step that sees them. From the end, so that what a copy sees has
// one more use when its turn comes.
void inline_cheap_steps(Program& program, const OpTable& table, Copies& copies) {
  const Types types = verify(program, table);
  std::vector<Node>& nodes = program.nodes;
  const std::size_t most = 2 * nodes.size();
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const std::string name = nodes[i].name;
    if (!is_cheap(nodes[i], table, types)) continue;
    bool taken = std::ranges::any_of(program.outputs,
                                     [&](const Ref& output) { return output.name == name; });
    for (std::size_t j = i + 1; j < nodes.size(); ++j) {
      if (!reads(nodes[j], name)) continue;
      if (!taken) {
        taken = true;
        continue;
      }
      if (nodes.size() >= most) return;
      Node copy = nodes[i];
      copy.name = fresh_name(program, name + "_again");
      const auto from = copies.find(name);
      copies[copy.name] = from == copies.end() ? Copy{name, false} : from->second;
      rename_operands(nodes[j], [&](const Ref& ref) {
        return ref.name == name ? Ref{copy.name, ref.output} : ref;
      });
      nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(copy));
      ++j;
    }
  }
}

bool has_halves(const Program& program, const OpTable& table) {
  const Types types = verify(program, table);
  const auto half = [&](const std::string& name) {
    for (int i = 0; i < types.outputs(name); ++i) {
      if (is_half(types.of({name, i}).dtype)) return true;
    }
    return false;
  };
  return std::ranges::any_of(program.inputs, half, &ProgramInput::name) ||
         std::ranges::any_of(program.nodes, half, &Node::name);
}

}  // namespace

Program with_copies(const Program& program, const OpTable& table, Copies& copies) {
  if (!has_halves(program, table)) return program;
  Program result = Recomputation(program, table, copies).run();
  inline_cheap_steps(result, table, copies);
  return result;
}

}  // namespace ulpfuzz::execution
