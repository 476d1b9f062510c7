#include "generators/generate.h"

#include <algorithm>

#include "generators/backward.h"
#include "generators/circumstances.h"
#include "generators/family.h"
#include "generators/modules.h"
#include "generators/op_graph.h"
#include "ir/modules.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

constexpr int kAttempts = 64;

// Calls that read what is already there are wanted more than new beginnings.
constexpr double kConnected = 0.8;

bool has_attention(const Program& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [](const Node& node) {
    return node.op.find("scaled_dot_product_attention") != std::string::npos;
  });
}

// Consecutive cases run in processes that are set up alike, so that they can be compiled together.
constexpr std::uint64_t kBlock = 32;

Environment block_environment(std::uint64_t seed, std::uint64_t index, const Profile& profile) {
  Random random = Random(seed ^ 0x626C6F636BULL).fork(index / kBlock);
  return draw_process(random, profile);
}

// Which operator case `index` must have: each has its turn once in every round, in an order that
// differs from round to round and from seed to seed.
const Op* operator_of_turn(std::uint64_t seed, std::uint64_t index,
                           const std::vector<const Op*>& drawable) {
  const std::uint64_t n = drawable.size();
  std::vector<const Op*> order = drawable;
  Random random = Random(seed ^ 0x7475726EULL).fork(index / n);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    const auto other = random.integer(0, static_cast<std::int64_t>(i));
    std::swap(order[i], order[static_cast<std::size_t>(other)]);
  }
  return order[index % n];
}

bool is_family(const std::string& name) {
  return std::ranges::any_of(families(), [&](const Family& f) { return f.name == name; });
}

// The modules of this name, or of this library: "litgpt.GPT", "transformers".
std::vector<std::string> modules_of(const std::string& name) {
  std::vector<std::string> modules;
  for (const ModuleKind& kind : module_kinds()) {
    if (kind.name == name || kind.name.starts_with(name + ".")) modules.emplace_back(kind.name);
  }
  return modules;
}

Case draw_module_case(Random& random, const std::vector<std::string>& modules,
                      const Profile& profile, const Environment& process) {
  Case c;
  c.module = draw_module(random, random.pick(modules));
  c.environment = draw_environment(random, profile, process, c.module->gradients, true);
  return c;
}

Case draw_model(Random& random, const OpTable& table, const Profile& profile,
                const Environment& process) {
  Case c;
  c.model = (is_family(profile.only) ? family(profile.only) : random.pick(families())).draw(random);
  c = lower(c);
  c.environment =
      draw_environment(random, profile, process, !c.wrt.empty(), has_attention(c.program));
  verify(c, table);
  return c;
}

// `first`: an operator that must be there.
Case draw_graph(Random& random, const OpTable& table, const Profile& profile,
                const std::vector<const Op*>& drawable, const Op* first,
                const Environment& process) {
  std::vector<double> weights;
  for (const Op* op : drawable) weights.push_back(op->row->weight);
  GraphDraw graph(random.fork(0), table, profile);
  const auto count =
      profile.alone ? 1 : static_cast<int>(random.integer(profile.min_nodes, profile.max_nodes));
  bool placed = first == nullptr;
  for (int step = 0; step < 12 * count + 40 && (graph.nodes() < count || !placed); ++step) {
    if (!placed && (profile.alone || random.chance(0.7))) {
      placed = graph.add(*first);
    } else if (graph.nodes() < count + 3) {
      const Op& op = *drawable[random.weighted(weights)];
      graph.add(op, graph.nodes() > 0 && random.chance(kConnected));
    }
  }
  if (!placed) throw Error(first->name(), "could not be drawn");

  Case c = graph.take();
  const Types types = verify(c.program, table);
  const bool backward =
      random.chance(profile.backward_share) && draw_backward(random, table, types, c);
  c.environment = draw_environment(random, profile, process, backward, has_attention(c.program));
  verify(c, table);
  return c;
}

}  // namespace

Case generate_case(std::uint64_t seed, std::uint64_t index, const OpTable& table,
                   const Profile& profile) {
  std::vector<const Op*> drawable;
  for (const Op& op : table.ops()) {
    if (op.row->draw != nullptr && op.row->weight > 0) drawable.push_back(&op);
  }
  const Random stream = Random(seed).fork(index);
  const Environment process = block_environment(seed, index, profile);
  if (const std::vector<std::string> modules = modules_of(profile.only); !modules.empty()) {
    Random random = stream.fork(0);
    return draw_module_case(random, modules, profile, process);
  }
  const bool models_only = is_family(profile.only);
  std::vector<const Op*> wanted = drawable;
  std::erase_if(wanted, [&](const Op* op) {
    return !models_only && op->name().find(profile.only) == std::string::npos;
  });
  if (wanted.empty() && !profile.only.empty()) {
    throw Error(
        profile.only,
        "is neither a family of models, a module or its library, nor part of an operator's name");
  }
  const double model_share = models_only ? 1 : profile.only.empty() ? profile.model_share : 0;
  std::string why = "no operator can be drawn";
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Random random = stream.fork(static_cast<std::uint64_t>(attempt));
    // Each operator gets its turn, however the weights are.
    const bool last_half = attempt >= kAttempts / 2;
    try {
      if (random.chance(model_share)) return draw_model(random, table, profile, process);
      if (drawable.empty()) continue;
      const Op* first = last_half && profile.only.empty() && !profile.alone
                            ? nullptr
                            : operator_of_turn(seed, index, wanted);
      return draw_graph(random, table, profile, drawable, first, process);
    } catch (const Error& error) {  // the next attempt draws something else
      why = error.what();
    }
  }
  throw Error("case " + std::to_string(index) + " of seed " + std::to_string(seed), why);
}

}  // namespace ulpfuzz
