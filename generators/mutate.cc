#include "generators/mutate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "generators/backward.h"
#include "generators/circumstances.h"
#include "generators/layout.h"
#include "generators/op_graph.h"
#include "generators/values.h"
#include "ir/error.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

constexpr int kAttempts = 40;
constexpr std::array<std::int64_t, 16> kSizes = {1,  2,  3,  5,  7,  8,  9,  15,
                                                 16, 17, 31, 32, 33, 63, 64, 65};

bool is_graph(const Case& c) { return !c.model && !c.module && !c.program.nodes.empty(); }

// Tensors of another size are contiguous.
void set_size(Case& c, const std::string& symbol, std::int64_t size) {
  c.program.symbols[symbol] = size;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const bool resized = std::ranges::any_of(c.program.inputs[i].shape, [&](const Dim& dim) {
      return std::ranges::count(dim.terms, symbol, &std::pair<std::string, std::int64_t>::first) >
             0;
    });
    if (!resized) continue;
    c.inputs[i].strides.clear();
    c.inputs[i].offset = 0;
  }
  for (std::optional<Cotangent>& cotangent : c.cotangents) {
    if (cotangent) cotangent->strides.clear();
  }
}

// The case in the sizes of another one, so that values of that fit its inputs; as it is where they
// do not suit it.
Case in_sizes_of(const Case& other, Case c, Random& random, const OpTable& table) {
  std::vector<std::int64_t> sizes;
  for (const auto& [symbol, size] : other.program.symbols) sizes.push_back(size);
  if (sizes.empty()) return c;
  Case resized = c;
  for (const auto& [symbol, size] : c.program.symbols)
    set_size(resized, symbol, random.pick(sizes));
  try {
    verify(resized, table);
    return resized;
  } catch (const Error&) {
    return c;
  }
}

// Changes one thing of a copy; false where there is none to change.
class Mutation {
 public:
  Mutation(Case& c, Random& random, const OpTable& table, const Profile& profile)
      : c_(c), random_(random), table_(table), profile_(profile) {}

  bool change() {
    const bool large = std::ssize(c_.program.nodes) >= profile_.max_nodes;
    switch (random_.weighted({large ? 0.0 : 30, large ? 20.0 : 8, 14, 10, 10, 6, 8, 6, 4, 4})) {
      case 0:
        return grow();
      case 1:
        return cut();
      case 2:
        return swap_operator();
      case 3:
        return retype();
      case 4:
        return resize();
      case 5:
        return lay_out();
      case 6:
        return refill();
      case 7:
        return renumber();
      case 8:
        return turn_gradients();
      default:
        c_.environment = draw_environment(random_, profile_, draw_process(random_, profile_),
                                          !c_.wrt.empty(), false);
        return true;
    }
  }

 private:
  const Op& drawn_operator() {
    std::vector<double> weights;
    for (const Op& op : table_.ops()) {
      weights.push_back(op.row->draw != nullptr ? op.row->weight : 0);
    }
    return table_.ops()[random_.weighted(weights)];
  }

  bool grow() {
    GraphDraw graph(random_.fork(random_.bits()), table_, profile_, c_);
    for (int attempt = 0; attempt < 20; ++attempt) {
      if (!graph.add(drawn_operator(), true)) continue;
      take(graph);
      return true;
    }
    return false;
  }

  void take(GraphDraw& graph) {
    const Environment environment = c_.environment;
    const bool backward = !c_.wrt.empty();
    c_ = graph.take();
    c_.environment = environment;
    c_.environment.grad =
        backward && draw_backward(random_, table_, verify(c_.program, table_), c_);
  }

  // Other outputs: one of the values, or the ones there without one.
  bool cut() {
    Program& program = c_.program;
    if (program.outputs.size() > 1 && random_.chance(0.5)) {
      program.outputs.erase(program.outputs.begin() +
                            random_.integer(0, std::ssize(program.outputs) - 1));
    } else {
      const Ref value{random_.pick(program.nodes).name, 0};
      if (program.outputs == std::vector<Ref>{value}) return false;
      program.outputs = {value};
    }
    GraphDraw graph(random_.fork(random_.bits()), table_, profile_, without_dead(c_));
    take(graph);
    return true;
  }

  Case without_dead(Case c) const {
    c.program = without_dead_code(c.program, table_);
    std::vector<std::size_t> kept;
    c.program = without_unused_inputs(c.program, kept);
    std::vector<InputData> inputs;
    for (const std::size_t i : kept) inputs.push_back(c.inputs[i]);
    c.inputs = std::move(inputs);
    return c;
  }

  static bool takes(const Op& op, const Node& node) {
    const auto given = [&](const SchemaArgument& slot) { return node.find(slot.name) != nullptr; };
    return std::ranges::all_of(op.schema.args,
                               [&](const SchemaArgument& slot) {
                                 return given(slot) || slot.default_value || slot.optional;
                               }) &&
           std::ranges::all_of(node.args, [&](const NamedArgument& arg) {
             return op.schema.find(arg.name) != nullptr;
           });
  }

  bool swap_operator() {
    Node& node =
        c_.program
            .nodes[static_cast<std::size_t>(random_.integer(0, std::ssize(c_.program.nodes) - 1))];
    std::vector<const Op*> others;
    for (const Op& op : table_.ops()) {
      if (op.row->draw != nullptr && op.name() != node.op && takes(op, node)) others.push_back(&op);
    }
    if (others.empty()) return false;
    node.op = random_.pick(others)->name();
    return true;
  }

  // All of one floating dtype become another one.
  bool retype() {
    std::vector<DType> there;
    for (const ProgramInput& input : c_.program.inputs) {
      if (is_floating(input.dtype)) there.push_back(input.dtype);
    }
    if (there.empty()) return false;
    const DType from = random_.pick(there), to = random_floating(random_);
    for (std::size_t i = 0; i < c_.inputs.size(); ++i) {
      if (c_.program.inputs[i].dtype != from) continue;
      c_.program.inputs[i].dtype = to;
      refill(i);
    }
    for (Node& node : c_.program.nodes) {
      for (NamedArgument& arg : node.args) {
        if (auto* dtype = std::get_if<DType>(&arg.value); dtype != nullptr && *dtype == from) {
          *dtype = to;
        }
      }
    }
    return from != to;
  }

  bool resize() {
    Symbols& symbols = c_.program.symbols;
    if (symbols.empty()) return false;
    auto symbol = symbols.begin();
    std::advance(symbol, random_.integer(0, std::ssize(symbols) - 1));
    set_size(c_, symbol->first, random_.pick(kSizes));
    return true;
  }

  std::size_t some_input() {
    return static_cast<std::size_t>(random_.integer(0, std::ssize(c_.inputs) - 1));
  }

  bool lay_out() {
    if (c_.inputs.empty()) return false;
    const std::size_t i = some_input();
    if (c_.inputs[i].alias >= 0) return false;
    Shape shape;
    for (const Dim& dim : c_.program.inputs[i].shape) {
      shape.push_back(dim.value(c_.program.symbols));
    }
    draw_layout(random_, shape, true, c_.inputs[i]);
    return true;
  }

  // Integers stay: what they may be is known to whoever drew them.
  bool refill() { return !c_.inputs.empty() && refill(some_input()); }
  bool refill(std::size_t i) {
    const DType dtype = c_.program.inputs[i].dtype;
    if (!is_floating(dtype)) return false;
    std::span<const double> edges;
    for (const Node& node : c_.program.nodes) {
      for (const Ref& ref : operands(node)) {
        if (ref.name == c_.program.inputs[i].name) edges = table_.at(node.op).row->edges;
      }
    }
    c_.inputs[i].fill = draw_fill(random_, dtype, edges, {profile_.special_share, false});
    return true;
  }

  bool renumber() {
    std::vector<Argument*> numbers;
    for (Node& node : c_.program.nodes) {
      for (NamedArgument& arg : node.args) {
        if (std::holds_alternative<Scalar>(arg.value) ||
            std::holds_alternative<double>(arg.value)) {
          numbers.push_back(&arg.value);
        }
      }
    }
    if (numbers.empty()) return false;
    Argument& number = *random_.pick(numbers);
    if (auto* real = std::get_if<double>(&number)) {
      *real = draw_number(random_, DType::kFloat32).as_double();
      return true;
    }
    Scalar& scalar = std::get<Scalar>(number);
    scalar = draw_number(
        random_, std::holds_alternative<double>(scalar.value) ? DType::kFloat32 : DType::kInt64);
    return true;
  }

  bool turn_gradients() {
    if (!c_.wrt.empty()) {
      c_.wrt.clear();
      c_.cotangents.assign(c_.program.outputs.size(), std::nullopt);
      c_.environment.grad = false;
      return true;
    }
    c_.environment.grad = draw_backward(random_, table_, verify(c_.program, table_), c_);
    return c_.environment.grad;
  }

  Case& c_;
  Random& random_;
  const OpTable& table_;
  const Profile& profile_;
};

// Whether a case is one that campaigns would run.
bool is_fit(const Case& c, const OpTable& table, const Profile& profile) {
  const Types types = verify(c, table);
  const auto fits = [&](const Ref& ref) {
    return element_count(types.of(ref).shape) <= profile.max_elements;
  };
  for (const ProgramInput& input : c.program.inputs) {
    if (!fits({input.name, 0})) return false;
  }
  return std::ranges::all_of(c.program.outputs, fits);
}

}  // namespace

Case mutate_case(const Case& c, std::uint64_t seed, const OpTable& table, const Profile& profile) {
  if (!is_graph(c)) return c;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Random random = Random(seed).fork(static_cast<std::uint64_t>(attempt));
    Case changed = c;
    try {
      if (Mutation(changed, random, table, profile).change() && changed != c &&
          is_fit(changed, table, profile)) {
        return changed;
      }
    } catch (const Error&) {  // another one may be possible
    }
  }
  return c;
}

Case cross_cases(const Case& first, const Case& second, std::uint64_t seed, const OpTable& table,
                 const Profile& profile) {
  if (!is_graph(first) || !is_graph(second)) return first;
  if (std::ssize(first.program.nodes) + std::ssize(second.program.nodes) > profile.max_nodes) {
    return first;
  }
  Random random(seed);
  try {
    GraphDraw graph(random.fork(0), table, profile, first);
    graph.append(in_sizes_of(first, second, random, table));
    Case c = graph.take();
    c.environment = first.environment;
    const bool backward = !first.wrt.empty() || !second.wrt.empty();
    c.environment.grad = backward && draw_backward(random, table, verify(c.program, table), c);
    if (is_fit(c, table, profile)) return c;
  } catch (const Error&) {
  }
  return first;
}

}  // namespace ulpfuzz
