#include <set>

#include "ir/verify.h"
#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// The number that an input holds in all its elements, if it is one.
std::optional<Scalar> only_value(const Fill& fill) {
  if (fill.kind != Fill::Kind::kLiteral) return std::nullopt;
  if (fill.values.size() == 1 && fill.integers.empty()) return Scalar{fill.values[0]};
  if (fill.integers.size() == 1 && fill.values.empty()) return Scalar{fill.integers[0]};
  return std::nullopt;
}

Scalar one_like(DType dtype) { return is_integral(dtype) ? Scalar{std::int64_t{1}} : Scalar{1.0}; }

}  // namespace

// A tensor operand as a Python number: what an input holds, or 1. Only the operand after the first
// can be one everywhere (x + 1), and not every operator takes it: the type rule says so.
std::vector<Case> constant_candidates(const Case& c, const OpTable& table) {
  std::vector<Case> candidates;
  if (has_origin(c)) return candidates;
  const Types types = verify(c.program, table);
  for (std::size_t n = 0; n < c.program.nodes.size(); ++n) {
    const Node& node = c.program.nodes[n];
    for (std::size_t a = 1; a < node.args.size(); ++a) {
      const Ref* ref = std::get_if<Ref>(&node.args[a].value);
      if (ref == nullptr) continue;
      std::vector<Scalar> numbers;
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        if (c.program.inputs[i].name != ref->name) continue;
        if (const auto value = only_value(c.inputs[i].fill)) numbers.push_back(*value);
      }
      numbers.push_back(one_like(types.of(*ref).dtype));
      for (const Scalar& number : numbers) {
        Case candidate = c;
        candidate.program.nodes[n].args[a].value = number;
        if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
          candidates.push_back(std::move(*tidied));
        }
      }
    }
  }
  return candidates;
}

}  // namespace ulpfuzz
