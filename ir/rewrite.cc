#include "ir/rewrite.h"

#include <algorithm>
#include <set>

#include "ir/alias.h"

namespace ulpfuzz {
namespace {

// Walks a program from its end and finds the nodes that something depends on.
class Liveness {
 public:
  Liveness(const Program& program, const OpTable& table, bool keep_input_writes)
      : program_(program), aliases_(program, table) {
    for (const Ref& ref : program.outputs) need(ref);
    if (keep_input_writes) {
      for (const ProgramInput& input : program.inputs) origins_.insert({input.name, 0});
    }
  }

  std::vector<bool> find() {
    std::vector<bool> live(program_.nodes.size());
    for (std::size_t i = program_.nodes.size(); i-- > 0;) {
      const Node& node = program_.nodes[i];
      const Ref* written = aliases_.written(node);
      live[i] = values_.contains(node.name) ||
                (written != nullptr && origins_.contains(aliases_.origin(*written)));
      if (!live[i]) continue;
      for (const Ref& ref : operands(node)) need(ref);
    }
    return live;
  }

 private:
  void need(const Ref& ref) {
    values_.insert(ref.name);
    origins_.insert(aliases_.origin(ref));
  }

  const Program& program_;
  Aliases aliases_;
  std::set<std::string, std::less<>> values_;  // inputs and nodes that are needed
  std::set<Ref> origins_;                      // storages that are looked at later
};

}  // namespace

Program without_dead_code(const Program& program, const OpTable& table, bool keep_input_writes) {
  const std::vector<bool> live = Liveness(program, table, keep_input_writes).find();
  Program result = program;
  result.nodes.clear();
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (live[i]) result.nodes.push_back(program.nodes[i]);
  }
  return result;
}

Program without_unused_inputs(const Program& program, std::vector<std::size_t>& kept) {
  std::set<std::string, std::less<>> used;
  for (const Node& node : program.nodes) {
    for (const Ref& ref : operands(node)) used.insert(ref.name);
  }
  for (const Ref& ref : program.outputs) used.insert(ref.name);
  Program result = program;
  result.inputs.clear();
  kept.clear();
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (!used.contains(program.inputs[i].name)) continue;
    result.inputs.push_back(program.inputs[i]);
    kept.push_back(i);
  }
  return result;
}

std::string fresh_name(const Program& program, const std::string& stem) {
  std::string name = stem;
  for (int i = 2; program.find_node(name) != nullptr || program.find_input(name) != nullptr; ++i) {
    name = stem + "_" + std::to_string(i);
  }
  return name;
}

}  // namespace ulpfuzz
