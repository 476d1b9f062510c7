#include <algorithm>
#include <map>
#include <set>

#include "ir/error.h"
#include "ir/verify.h"
#include "oracle/oracle.h"
#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kMostLiterals = 4096;  // elements written out at most

// What the program computes for its intermediate values, so that a value can be replaced by an
// input that holds the same numbers.
class Values {
 public:
  Values(const Case& c, const OpTable& table, const Types& types) {
    Case all = c;
    all.wrt.clear();
    all.program.outputs.clear();
    for (const Node& node : c.program.nodes) {
      for (int i = 0; i < types.outputs(node.name); ++i) {
        if (element_count(types.of({node.name, i}).shape) <= kMostLiterals) {
          all.program.outputs.push_back({node.name, i});
        }
      }
    }
    all.cotangents.assign(all.program.outputs.size(), std::nullopt);
    try {
      exact_ = Oracle(table).exact(all);
      for (std::size_t i = 0; i < all.program.outputs.size(); ++i) {
        index_[all.program.outputs[i]] = i;
      }
    } catch (const Error&) {
      // no values: bell curves must do
    }
  }

  // Fills to try for a value: simple ones first.
  std::vector<Fill> fills(const Ref& value, const TensorType& type) const {
    std::vector<Fill> result;
    Fill simple;
    if (is_integral(type.dtype)) {
      simple.kind = Fill::Kind::kInteger;
      simple.low = 0;
      simple.high = 1;
    }
    result.push_back(simple);
    const auto it = index_.find(value);
    if (it == index_.end() || is_complex(type.dtype)) return result;
    const ExactTensor& tensor = exact_.tensors[it->second];
    Fill literal;
    literal.kind = Fill::Kind::kLiteral;
    literal.integers = tensor.integers;
    for (const double v : tensor.values) literal.values.push_back(round_to(type.dtype, v));
    if (!literal.values.empty() || !literal.integers.empty()) result.push_back(std::move(literal));
    return result;
  }

 private:
  Exact exact_;
  std::map<Ref, std::size_t> index_;
};

// Values defined before node `cut` that are used at or after it, or are outputs.
std::set<Ref> crossing(const Program& program, std::size_t cut) {
  std::set<std::string> before;
  for (std::size_t i = 0; i < cut; ++i) before.insert(program.nodes[i].name);
  std::set<Ref> values;
  for (std::size_t i = cut; i < program.nodes.size(); ++i) {
    for (const Ref& ref : operands(program.nodes[i])) {
      if (before.count(ref.name) != 0) values.insert(ref);
    }
  }
  for (const Ref& output : program.outputs) {
    if (before.count(output.name) != 0) values.insert(output);
  }
  return values;
}

// The program from node `cut` on, what crosses the cut given as inputs.
Case suffix(const Case& c, std::size_t cut, const Types& types, const Values& values,
            bool literal) {
  Case result = c;
  for (const Ref& value : crossing(c.program, cut)) {
    const TensorType& type = types.of(value);
    const std::vector<Fill> fills = values.fills(value, type);
    result = with_input(result, value, type, literal ? fills.back() : fills.front());
  }
  return result;
}

// Uses of a node's first result see one of its operands of the same type instead.
void bypass(const Case& c, const Node& node, const Types& types, std::vector<Case>& out) {
  const Ref value{node.name, 0};
  for (const Ref& operand : operands(node)) {
    if (types.of(operand) != types.of(value)) continue;
    Case candidate = c;
    const auto rename = [&](const Ref& ref) { return ref == value ? operand : ref; };
    for (Node& other : candidate.program.nodes) rename_operands(other, rename);
    for (Ref& output : candidate.program.outputs) output = rename(output);
    out.push_back(std::move(candidate));
  }
}

}  // namespace

std::vector<Case> node_candidates(const Case& c, const OpTable& table) {
  if (c.model) return {};
  const Types types = verify(c.program, table);
  const Values values(c, table, types);
  std::vector<Case> raw;
  const std::size_t n = c.program.nodes.size();
  for (const bool literal : {false, true}) {
    // Late cuts first: they remove most.
    for (std::size_t step = n; step > 1; step = (step + 1) / 2) {
      const std::size_t cut = n - (n + step - 1) / step;
      if (cut > 0) raw.push_back(suffix(c, cut, types, values, literal));
      if (step == 2) break;
    }
  }
  for (const Node& node : c.program.nodes) bypass(c, node, types, raw);
  for (std::size_t i = n; i-- > 0;) {
    const Node& node = c.program.nodes[i];
    if (types.outputs(node.name) != 1) continue;
    const Ref value{node.name, 0};
    for (const Fill& fill : values.fills(value, types.of(value))) {
      raw.push_back(with_input(c, value, types.of(value), fill));
    }
  }
  std::vector<Case> candidates;
  for (Case& candidate : raw) {
    if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
      candidates.push_back(std::move(*tidied));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Case& a, const Case& b) {
    return a.program.nodes.size() < b.program.nodes.size();
  });
  return candidates;
}

}  // namespace ulpfuzz
