#include "generators/backward.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "ir/alias.h"

namespace ulpfuzz {
namespace {

// The part of an operator's name that says what it computes: "add" of "aten.add_.Tensor".
std::string_view base_name(std::string_view op) {
  op.remove_prefix(op.find('.') + 1);
  op = op.substr(0, op.find('.'));
  while (op.ends_with('_')) op.remove_suffix(1);
  return op;
}

// Autograd keeps neither operands nor result of these, so that either may be written afterwards
// (torch's tools/autograd/derivatives.yaml). Only operators that are sure to be so are listed.
bool saves_nothing(std::string_view op) {
  static const std::set<std::string_view> kNames = {"add",  "sub",   "rsub", "neg",  "sum",
                                                    "mean", "clone", "cat",  "stack"};
  return kNames.contains(base_name(op));
}

// Autograd keeps operands of these, but not the result.
bool saves_no_result(std::string_view op) {
  static const std::set<std::string_view> kNames = {
      "mul", "div", "matmul", "mm",  "bmm",  "linear", "addmm", "sin",  "cos",
      "log", "erf", "where",  "abs", "silu", "gelu",   "pow",   "atan", "square"};
  return saves_nothing(op) || kNames.contains(base_name(op));
}

// Which values gradients can flow through.
class Paths {
 public:
  Paths(const Program& program, const OpTable& table, const Types& types)
      : program_(program), table_(table), types_(types), aliases_(program, table) {
    for (const Node& node : program_.nodes) {
      if (const Ref* ref = aliases_.written(node)) written_.insert(aliases_.origin(*ref));
    }
  }

  bool is_written(const Ref& ref) const { return written_.contains(aliases_.origin(ref)); }

  // No tensor is written that an earlier node may have saved for its gradient.
  bool writes_are_safe() const {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Ref* ref = aliases_.written(program_.nodes[i]);
      if (ref != nullptr && !may_write(tensor(*ref), i)) return false;
    }
    return true;
  }

  // Values from which gradients come when `outputs` receive some, in other words whose changes
  // reach an output.
  std::set<Ref> reaching(const std::vector<Ref>& outputs) const {
    std::set<Ref> reached;
    for (const Ref& ref : outputs) reached.insert(tensor(ref));
    for (auto node = program_.nodes.rbegin(); node != program_.nodes.rend(); ++node) {
      if (!is_differentiable(*node) || !any_output(*node, reached)) continue;
      for (const Ref& ref : operands(*node)) {
        if (is_floating(types_.of(ref).dtype)) reached.insert(tensor(ref));
      }
    }
    return reached;
  }

  // Values that require a gradient when `inputs` do.
  std::set<Ref> requiring(const std::vector<std::string>& inputs) const {
    std::set<Ref> required;
    for (const std::string& name : inputs) required.insert({name, 0});
    for (const Node& node : program_.nodes) {
      if (!is_differentiable(node)) continue;
      const std::vector<Ref> read = operands(node);
      const bool any = std::any_of(read.begin(), read.end(),
                                   [&](const Ref& ref) { return required.contains(tensor(ref)); });
      if (!any) continue;
      for (int i = 0; i < types_.outputs(node.name); ++i) {
        const Ref ref{node.name, i};
        if (is_floating(types_.of(ref).dtype)) required.insert(tensor(ref));
      }
    }
    return required;
  }

  // What a name stands for here: values in a storage that is written count as one, since a write
  // through one of them is seen by all.
  Ref tensor(const Ref& ref) const { return is_written(ref) ? aliases_.origin(ref) : ref; }

 private:
  bool may_write(const Ref& target, std::size_t at) const {
    for (std::size_t i = 0; i < at; ++i) {
      const Node& node = program_.nodes[i];
      if (!is_differentiable(node)) continue;
      if (tensor({node.name, 0}) == target && !saves_no_result(node.op)) return false;
      for (const Ref& ref : operands(node)) {
        if (tensor(ref) == target && !saves_nothing(node.op)) return false;
      }
    }
    return true;
  }

  // An in-place operator's gradient is that of the operator it stands for.
  bool is_differentiable(const Node& node) const {
    const std::string functional = out_of_place(node.op);
    const Op* op = functional.empty() ? nullptr : table_.find(functional);
    return (op != nullptr ? op : &table_.at(node.op))->row->derivative != nullptr;
  }

  bool any_output(const Node& node, const std::set<Ref>& reached) const {
    for (int i = 0; i < types_.outputs(node.name); ++i) {
      if (reached.contains(tensor({node.name, i}))) return true;
    }
    return false;
  }

  const Program& program_;
  const OpTable& table_;
  const Types& types_;
  Aliases aliases_;
  std::set<Ref> written_;  // first values of the storages that are written
};

Cotangent draw_cotangent(Random& random, const TensorType& type) {
  Cotangent cotangent;
  Fill& fill = cotangent.fill;
  fill.seed = random.bits();
  fill.grid = type.dtype;
  const bool expanded = random.chance(0.2);
  if (random.chance(expanded ? 0.7 : 0.1)) {  // what .sum().backward() and .mean() give
    fill.kind = Fill::Kind::kLiteral;
    fill.values = {1};
  }
  if (expanded && !type.shape.empty()) cotangent.strides = Shape(type.shape.size(), 0);
  if (expanded && type.shape.size() > 1 && random.chance(0.3)) cotangent.strides.back() = 1;
  return cotangent;
}

template <class T>
std::vector<T> some_of(Random& random, const std::vector<T>& items, double all) {
  if (items.empty() || random.chance(all)) return items;
  std::vector<T> some;
  for (const T& item : items) {
    if (random.chance(0.6)) some.push_back(item);
  }
  if (some.empty()) some.push_back(random.pick(items));
  return some;
}

}  // namespace

bool draw_backward(Random& random, const OpTable& table, const Types& types, Case& c) {
  const Paths paths(c.program, table, types);
  if (!paths.writes_are_safe()) return false;

  std::vector<Ref> floating;
  for (const Ref& ref : c.program.outputs) {
    if (is_floating(types.of(ref).dtype)) floating.push_back(ref);
  }
  const std::vector<Ref> chosen = some_of(random, floating, 0.85);
  const std::set<Ref> reaching = paths.reaching(chosen);
  std::vector<std::string> candidates;
  for (const ProgramInput& input : c.program.inputs) {
    const Ref ref{input.name, 0};
    if (is_floating(input.dtype) && !paths.is_written(ref) && reaching.contains(ref)) {
      candidates.push_back(input.name);
    }
  }
  if (candidates.empty()) return false;
  c.wrt = some_of(random, candidates, 0.7);

  const std::set<Ref> required = paths.requiring(c.wrt);
  c.cotangents.assign(c.program.outputs.size(), std::nullopt);
  for (std::size_t i = 0; i < c.program.outputs.size(); ++i) {
    const Ref& ref = c.program.outputs[i];
    if (std::count(chosen.begin(), chosen.end(), ref) == 0) continue;
    if (required.contains(paths.tensor(ref))) {
      c.cotangents[i] = draw_cotangent(random, types.of(ref));
    }
  }
  return true;
}

}  // namespace ulpfuzz
