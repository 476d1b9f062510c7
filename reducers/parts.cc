#include "reducers/parts.h"

#include <algorithm>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kMostLiterals = 4096;  // elements written out at most

Fill simple(DType dtype) {
  Fill fill;
  if (is_integral(dtype)) {
    fill.kind = Fill::Kind::kInteger;
    fill.low = 0;
    fill.high = 1;
  }
  return fill;
}

}  // namespace

Intermediates::Intermediates(const Case& c, const OpTable& table, const Types& types)
    : types_(types) {
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

Fill Intermediates::fill(const Ref& value, bool own) const {
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

Parts::Parts(const Case& c, const OpTable& table)
    : case_(c), table_(table), types_(verify(c.program, table)), values_(c, table, types_) {
  for (std::size_t i = 0; i < size(); ++i) position_[nodes()[i].name] = i;
}

// Is the value made by a node in [first, last)?
bool Parts::made_in(const Ref& value, std::size_t first, std::size_t last) const {
  const auto it = position_.find(value.name);
  return it != position_.end() && first <= it->second && it->second < last;
}

void Parts::add(Case c) {
  if (std::optional<Case> tidied = tidy(std::move(c), table_)) {
    candidates_.push_back(std::move(*tidied));
  }
}

// The outputs that `keep_output` wants, then `more`.
template <class Keep>
Case Parts::with_some_outputs(const Keep& keep_output, const std::vector<Ref>& more) const {
  std::vector<KeptOutput> kept;
  for (std::size_t i = 0; i < case_.program.outputs.size(); ++i) {
    const Ref& output = case_.program.outputs[i];
    if (keep_output(output)) kept.push_back({output, static_cast<int>(i)});
  }
  for (const Ref& value : more) kept.push_back({value, -1});
  return with_outputs(case_, kept, types_);
}

// Values made by nodes that are gone become inputs.
Case Parts::with_inputs(Case c, bool own) const {
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

void Parts::keep(std::size_t first, std::size_t last, bool own) {
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

void Parts::drop(std::size_t first, std::size_t last, bool own) {
  const auto outside = [&](const Ref& ref) { return !made_in(ref, first, last); };
  Case c = with_some_outputs(outside, {});
  const auto begin = c.program.nodes.begin();
  c.program.nodes.erase(begin + static_cast<std::ptrdiff_t>(first),
                        begin + static_cast<std::ptrdiff_t>(last));
  if (!c.program.outputs.empty()) add(with_inputs(std::move(c), own));
}

void Parts::ancestors(const Node& node) {
  std::vector<Ref> results;
  for (int i = 0; i < types_.outputs(node.name); ++i) results.push_back({node.name, i});
  const auto of_node = [&](const Ref& ref) { return ref.name == node.name; };
  for (const Ref& output : case_.program.outputs) {
    std::erase(results, output);
  }
  add(with_some_outputs(of_node, results));
}

void Parts::bypass(const Node& node) {
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

}  // namespace ulpfuzz
