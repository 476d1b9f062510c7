#include <algorithm>

#include "ir/verify.h"
#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// Collects candidates that are consistent.
class Candidates {
 public:
  explicit Candidates(const OpTable& table) : table_(table) {}
  void add(Case c) {
    if (std::optional<Case> tidied = tidy(std::move(c), table_))
      cases_.push_back(std::move(*tidied));
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  const OpTable& table_;
  std::vector<Case> cases_;
};

// A case of program level: what a model builds cannot be edited node by node.
Case as_program(const Case& c) {
  Case program = c;
  program.model.reset();
  return program;
}

Case with_some_outputs(const Case& c, std::size_t first, std::size_t last, const Types& types) {
  std::vector<KeptOutput> kept;
  for (std::size_t i = first; i < last; ++i) {
    kept.push_back({c.program.outputs[i], static_cast<int>(i)});
  }
  return with_outputs(c, kept, types);
}

// Every output's operands in its place: the program without its last nodes.
void move_towards_inputs(const Case& c, const Types& types, Candidates& candidates) {
  for (std::size_t i = 0; i < c.program.outputs.size(); ++i) {
    const Node* node = c.program.find_node(c.program.outputs[i].name);
    if (node == nullptr) continue;
    std::vector<KeptOutput> kept;
    for (std::size_t j = 0; j < c.program.outputs.size(); ++j) {
      if (j != i) kept.push_back({c.program.outputs[j], static_cast<int>(j)});
    }
    for (const Ref& operand : operands(*node)) {
      if (c.program.find_node(operand.name) == nullptr) continue;
      std::vector<KeptOutput> with = kept;
      with.push_back({operand, -1});
      candidates.add(with_outputs(c, with, types));
    }
  }
}

}  // namespace

std::vector<Case> output_candidates(const Case& original, const OpTable& table) {
  if (has_origin(original)) return {};
  const Case c = as_program(original);
  const Types types = verify(c.program, table);
  Candidates candidates(table);
  if (!c.wrt.empty()) {
    Case forward = c;
    forward.wrt.clear();
    candidates.add(forward);
    for (const std::string& name : c.wrt) {
      if (c.wrt.size() == 1) break;
      Case one = c;
      one.wrt = {name};
      candidates.add(one);
    }
    for (std::size_t i = 0; c.wrt.size() > 2 && i < c.wrt.size(); ++i) {
      Case fewer = c;
      fewer.wrt.erase(fewer.wrt.begin() + static_cast<std::ptrdiff_t>(i));
      candidates.add(fewer);
    }
  }
  const std::size_t n = c.program.outputs.size();
  for (std::size_t i = 0; n > 1 && i < n; ++i)
    candidates.add(with_some_outputs(c, i, i + 1, types));
  if (n > 3) {
    candidates.add(with_some_outputs(c, 0, n / 2, types));
    candidates.add(with_some_outputs(c, n / 2, n, types));
  }
  move_towards_inputs(c, types, candidates);
  return candidates.take();
}

}  // namespace ulpfuzz
