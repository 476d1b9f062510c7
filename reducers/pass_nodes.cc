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
  Values(const Case& c, const OpTable& table, const Types& types) : types_(types) {
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

  const TensorType& type(const Ref& value) const { return types_.of(value); }

  // A value's own numbers where they are known and few, else a bell curve.
  Fill fill(const Ref& value, bool own) const {
    const auto it = index_.find(value);
    if (!own || it == index_.end()) return simple(type(value).dtype);
    const ExactTensor& tensor = exact_.tensors[it->second];
    Fill literal;
    literal.kind = Fill::Kind::kLiteral;
    literal.integers = tensor.integers;
    const DType real = real_part(type(value).dtype);
    for (const double v : tensor.values) literal.values.push_back(round_to(real, v));
    const bool any = !literal.values.empty() || !literal.integers.empty();
    return any ? literal : simple(type(value).dtype);
  }

 private:
  static Fill simple(DType dtype) {
    Fill fill;
    if (is_integral(dtype)) {
      fill.kind = Fill::Kind::kInteger;
      fill.low = 0;
      fill.high = 1;
    }
    return fill;
  }

  const Types& types_;
  Exact exact_;
  std::map<Ref, std::size_t> index_;
};

// One program's candidates: parts of it, each with what comes from elsewhere as an input.
class NodeCandidates {
 public:
  NodeCandidates(const Case& c, const OpTable& table)
      : case_(c), table_(table), types_(verify(c.program, table)), values_(c, table, types_) {
    for (std::size_t i = 0; i < size(); ++i) position_[nodes()[i].name] = i;
  }

  std::vector<Case> all() {
    for (const bool own : {true, false}) {
      for (std::size_t width = 1; width < size(); width = next_width(width)) {
        const std::size_t step = std::max<std::size_t>(1, width / 2);
        for (std::size_t first = 0; first + width <= size(); first += step) {
          keep(first, first + width, own);
        }
        for (std::size_t first = 0; first < size(); first += width) {
          drop(first, std::min(size(), first + width), own);
        }
      }
    }
    for (const Node& node : nodes()) ancestors_only(node);
    for (const Node& node : nodes()) bypass(node);
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Case& a, const Case& b) {
      return a.program.nodes.size() < b.program.nodes.size();
    });
    return std::move(candidates_);
  }

 private:
  const std::vector<Node>& nodes() const { return case_.program.nodes; }
  std::size_t size() const { return nodes().size(); }

  // Single nodes, then sixteenths, eighths, quarters and halves of the program.
  std::size_t next_width(std::size_t width) const {
    return std::max(2 * width, width == 1 ? size() / 16 : width);
  }

  // Is the value made by a node in [first, last)?
  bool made_in(const Ref& value, std::size_t first, std::size_t last) const {
    const auto it = position_.find(value.name);
    return it != position_.end() && first <= it->second && it->second < last;
  }

  void add(Case c) {
    if (std::optional<Case> tidied = tidy(std::move(c), table_)) {
      candidates_.push_back(std::move(*tidied));
    }
  }

  // The outputs that `keep_output` wants, then `more`.
  template <class Keep>
  Case with_some_outputs(const Keep& keep_output, const std::vector<Ref>& more) const {
    std::vector<KeptOutput> kept;
    for (std::size_t i = 0; i < case_.program.outputs.size(); ++i) {
      const Ref& output = case_.program.outputs[i];
      if (keep_output(output)) kept.push_back({output, static_cast<int>(i)});
    }
    for (const Ref& value : more) kept.push_back({value, -1});
    return with_outputs(case_, kept, types_);
  }

  // Values made outside [first, last) by nodes that the program's remaining nodes use.
  Case with_inputs(Case c, bool own) const {
    std::set<std::string> here;
    for (const Node& node : c.program.nodes) here.insert(node.name);
    std::set<Ref> missing;
    for (const Node& node : c.program.nodes) {
      for (const Ref& ref : operands(node)) {
        if (position_.count(ref.name) != 0 && here.count(ref.name) == 0) missing.insert(ref);
      }
    }
    for (const Ref& value : missing) {
      c = with_input(c, value, values_.type(value), values_.fill(value, own));
    }
    return c;
  }

  // Nodes [first, last) alone; what leaves them becomes an output.
  void keep(std::size_t first, std::size_t last, bool own) {
    const auto inside = [&](const Ref& ref) { return made_in(ref, first, last); };
    std::set<Ref> leaving;
    for (std::size_t i = last; i < size(); ++i) {
      for (const Ref& ref : operands(nodes()[i])) {
        if (inside(ref)) leaving.insert(ref);
      }
    }
    for (const Ref& output : case_.program.outputs) leaving.erase(output);
    Case c = with_some_outputs(inside, {leaving.begin(), leaving.end()});
    const auto begin = nodes().begin();
    c.program.nodes.assign(begin + static_cast<std::ptrdiff_t>(first),
                           begin + static_cast<std::ptrdiff_t>(last));
    if (!c.program.outputs.empty()) add(with_inputs(std::move(c), own));
  }

  // The program without nodes [first, last); what they made becomes inputs.
  void drop(std::size_t first, std::size_t last, bool own) {
    const auto outside = [&](const Ref& ref) { return !made_in(ref, first, last); };
    Case c = with_some_outputs(outside, {});
    const auto begin = c.program.nodes.begin();
    c.program.nodes.erase(begin + static_cast<std::ptrdiff_t>(first),
                          begin + static_cast<std::ptrdiff_t>(last));
    if (!c.program.outputs.empty()) add(with_inputs(std::move(c), own));
  }

  // One node's results as the only outputs: tidy() leaves what leads to them.
  void ancestors_only(const Node& node) {
    std::vector<Ref> results;
    for (int i = 0; i < types_.outputs(node.name); ++i) results.push_back({node.name, i});
    const auto of_node = [&](const Ref& ref) { return ref.name == node.name; };
    for (const Ref& output : case_.program.outputs) {
      std::erase(results, output);
    }
    add(with_some_outputs(of_node, results));
  }

  // Uses of a node's first result see one of its operands of the same type instead.
  void bypass(const Node& node) {
    const Ref value{node.name, 0};
    for (const Ref& operand : operands(node)) {
      if (types_.of(operand) != types_.of(value)) continue;
      Case candidate = case_;
      const auto rename = [&](const Ref& ref) { return ref == value ? operand : ref; };
      for (Node& other : candidate.program.nodes) rename_operands(other, rename);
      for (Ref& output : candidate.program.outputs) output = rename(output);
      add(std::move(candidate));
    }
  }

  const Case& case_;
  const OpTable& table_;
  const Types types_;
  const Values values_;
  std::map<std::string, std::size_t> position_;
  std::vector<Case> candidates_;
};

}  // namespace

std::vector<Case> node_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c)) return {};
  return NodeCandidates(c, table).all();
}

}  // namespace ulpfuzz
