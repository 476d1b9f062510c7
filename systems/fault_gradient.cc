#include <algorithm>
#include <array>
#include <set>

#include "ir/alias.h"
#include "systems/fault_families.h"
#include "systems/fault_planter.h"

// Values stay, to the bit, and gradients do not: `detach` stops them.
namespace ulpfuzz {
namespace {

Ref detached(Insertion& at, const Ref& x) { return at.call("detach.default", x); }

// Puts `change(insertion, input)`, of the input's value, in place of the first input that gradients
// are taken by and that no result shares its storage with.
template <class Change>
bool change_gradient(Planter& p, const Change& change) {
  const Aliases aliases(p.test().program, p.table());
  for (const std::string& name : p.test().wrt) {
    const Ref input{name, 0};
    const bool seen = std::ranges::any_of(
        p.outputs(), [&](const Ref& output) { return aliases.origin(output) == input; });
    const bool read = std::ranges::any_of(p.nodes(), [&](const Node& node) {
      const std::vector<Ref> used = operands(node);
      return std::ranges::find(used, input) != used.end();
    });
    if (seen || !read) continue;
    Insertion first(p, 0, name + "_changed");
    const Ref changed = change(first, input);
    p.redirect(input, changed, first.at());
    return true;
  }
  return false;
}

// x + 0 * x without the gradient of the first.
bool zero_gradient(Planter& p, double /*unused*/) {
  return change_gradient(p, [](Insertion& at, const Ref& x) {
    const Ref value = detached(at, x);
    return at.call("add.Tensor", value, at.call("mul.Tensor", x, Scalar{0.0}));
  });
}

// 2 x - x without the gradient of the first.
bool negate_gradient(Planter& p, double /*unused*/) {
  return change_gradient(p, [](Insertion& at, const Ref& x) {
    const Ref value = detached(at, x);
    return at.call("sub.Tensor", at.call("add.Tensor", value, value), x);
  });
}

// Values through which gradients flow: from what they are taken by, to outputs that receive one.
std::set<Ref> differentiated(Planter& p) {
  std::set<Ref> reached;
  for (const std::string& name : p.test().wrt) reached.insert({name, 0});
  const auto any_of = [](const std::vector<Ref>& refs, const std::set<Ref>& set) {
    return std::ranges::any_of(refs, [&](const Ref& ref) { return set.contains(ref); });
  };
  for (const Node& node : p.nodes()) {
    if (p.op(node).row->derivative == nullptr || !any_of(operands(node), reached)) continue;
    for (const Ref& result : p.results(node)) reached.insert(result);
  }
  std::set<Ref> wanted;
  for (std::size_t i = 0; i < p.outputs().size(); ++i) {
    if (p.test().cotangents[i]) wanted.insert(p.outputs()[i]);
  }
  for (auto node = p.nodes().rbegin(); node != p.nodes().rend(); ++node) {
    if (!any_of(p.results(*node), wanted)) continue;
    for (const Ref& used : operands(*node)) wanted.insert(used);
  }
  std::set<Ref> both;
  std::ranges::set_intersection(reached, wanted, std::inserter(both, both.end()));
  return both;
}

// A value that two nodes or more differentiate through, so that its gradient is a sum: the last
// one's term is missing.
bool drop_gradient_term(Planter& p, double /*unused*/) {
  const bool mutates =
      std::ranges::any_of(p.nodes(), [&](const Node& node) { return p.op(node).schema.mutates(); });
  if (mutates) return false;  // a detached tensor must not be written
  const std::set<Ref> flows = differentiated(p);
  for (const Ref& value : flows) {
    if (!is_floating(p.type(value).dtype)) continue;
    std::vector<std::size_t> users;
    for (std::size_t i = 0; i < p.nodes().size(); ++i) {
      const std::vector<Ref> used = operands(p.nodes()[i]);
      const bool uses = std::ranges::find(used, value) != used.end();
      if (uses && flows.contains({p.nodes()[i].name, 0})) users.push_back(i);
    }
    if (users.size() < 2) continue;
    Insertion before(p, users.back(), value.name + "_cut");
    const Ref cut = detached(before, value);
    rename_operands(p.nodes()[before.at()],
                    [&](const Ref& ref) { return ref == value ? cut : ref; });
    return true;
  }
  return false;
}

constexpr std::array kFaults{
    Fault{{.name = "grad-zero", .in_program = true, .meaning = "the first gradient is zero"},
          &zero_gradient},
    Fault{{.name = "grad-sign",
           .in_program = true,
           .meaning = "the first gradient has the other sign"},
          &negate_gradient},
    Fault{{.name = "grad-term-missing",
           .in_program = true,
           .meaning = "of a value that is used more than once one term of the gradient is missing"},
          &drop_gradient_term},
};

}  // namespace

std::span<const Fault> gradient_faults() { return kFaults; }

}  // namespace ulpfuzz
