// Twins by another program for the same function.
#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "judge/twins.h"
#include "ops/random.h"

namespace ulpfuzz {
namespace {

constexpr std::string_view kAttention = "aten.scaled_dot_product_attention.default";

bool is_on(const Node& node, std::string_view arg) {
  const Argument* given = node.find(arg);
  const bool* value = given == nullptr ? nullptr : std::get_if<bool>(given);
  return value != nullptr && *value;
}

void set(Node& node, const std::string& arg, Argument value) {
  for (NamedArgument& given : node.args) {
    if (given.name == arg) {
      given.value = std::move(value);
      return;
    }
  }
  node.args.push_back({arg, std::move(value)});
}

void drop(Node& node, std::string_view arg) {
  std::erase_if(node.args, [&](const NamedArgument& given) { return given.name == arg; });
}

// Puts nodes in front of those that there are.
class Rewriter {
 public:
  // The case in a form that a rewrite may change: the program alone, sizes numbers.
  Rewriter(const Case& c, const OpTable& table) : case_(bind_symbols(c)) {
    case_.model.reset();
    case_.module.reset();
    types_ = verify(case_.program, table);
    plain_ = case_;
  }
  const Types& types() const { return types_; }
  const Program& program() const { return case_.program; }
  Program& program() { return case_.program; }

  Ref insert(std::vector<Node>& nodes, const std::string& stem, const std::string& op,
             std::vector<NamedArgument> args) {
    const std::string name = fresh_name(case_.program, stem);
    Node node{name, op, std::move(args)};
    case_.program.nodes.push_back(node);  // so that the name is taken
    nodes.push_back(std::move(node));
    return {name, 0};
  }

  // Calls `rewrite(node, nodes)` for each node, which may append to `nodes`, and then the node.
  template <class Rewrite>
  void each(const Rewrite& rewrite) {
    const std::vector<Node> before = case_.program.nodes;
    std::vector<Node> after;
    for (Node node : before) {
      rewrite(node, after);
      after.push_back(std::move(node));
    }
    case_.program.nodes = std::move(after);
  }

  Twins twins(const Related& r, std::string form) && {
    Twins t{std::move(plain_), std::move(case_), r.system, r.system};
    // An environment may hold what the model's origin was; its program is the same.
    if (!has_origin(r.test) && r.test.program == t.one.program) t.one = r.test;
    t.form = std::move(form);
    return t;
  }

 private:
  Case case_, plain_;
  Types types_;
};

std::int64_t from_end(const Shape& shape, std::size_t back) { return shape[shape.size() - back]; }

}  // namespace

std::vector<Twins> repeated_kv(const Related& r) {
  Rewriter w(r.test, r.table);
  bool any = false;
  w.each([&](Node& node, std::vector<Node>& nodes) {
    if (node.op != kAttention || !is_on(node, "enable_gqa")) return;
    const std::int64_t heads = from_end(w.types().of(std::get<Ref>(*node.find("query"))).shape, 3);
    for (const std::string arg : {"key", "value"}) {
      const Ref before = std::get<Ref>(*node.find(arg));
      const std::int64_t own = from_end(w.types().of(before).shape, 3);
      if (own == heads || own == 0) continue;
      set(node, arg,
          w.insert(nodes, fmt::format("{}_{}", node.name, arg), "aten.repeat_interleave.self_int",
                   {{"self", before}, {"repeats", Dim(heads / own)}, {"dim", Dim(-3)}}));
      any = true;
    }
    drop(node, "enable_gqa");
  });
  if (!any) return {};
  std::vector<Twins> all;
  all.push_back(std::move(w).twins(r, "keys and values repeated"));
  return all;
}

std::vector<Twins> masked_attention(const Related& r) {
  Rewriter w(r.test, r.table);
  bool any = false;
  w.each([&](Node& node, std::vector<Node>& nodes) {
    if (node.op != kAttention || !is_on(node, "is_causal")) return;
    const std::int64_t queries =
        from_end(w.types().of(std::get<Ref>(*node.find("query"))).shape, 2);
    const std::int64_t keys = from_end(w.types().of(std::get<Ref>(*node.find("key"))).shape, 2);
    const Ref ones = w.insert(nodes, node.name + "_ones", "aten.full.default",
                              {{"size", std::vector<Dim>{Dim(queries), Dim(keys)}},
                               {"fill_value", Scalar{true}},
                               {"dtype", DType::kBool}});
    set(node, "attn_mask",
        w.insert(nodes, node.name + "_mask", "aten.tril.default", {{"self", ones}}));
    drop(node, "is_causal");
    any = true;
  });
  if (!any) return {};
  std::vector<Twins> all;
  all.push_back(std::move(w).twins(r, "the mask written out"));
  return all;
}

// The batch reversed where it comes in and again where it goes out: results keep their places, and
// so do gradients.
std::vector<Twins> permuted_batch(const Related& r) {
  Rewriter w(r.test, r.table);
  const Case bound = bind_symbols(r.test);
  const std::optional<BatchAxis> axis = batch_axis(bound, r.table);
  if (!axis) return {};
  const std::vector<Dim> first{Dim(0)};
  std::vector<Node> nodes;
  Program& p = w.program();
  const std::vector<Node> before = p.nodes;
  std::vector<std::pair<std::string, Ref>> turned;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    if (!axis->inputs[i]) continue;
    const std::string& name = p.inputs[i].name;
    turned.emplace_back(name, w.insert(nodes, name + "_turned", "aten.flip.default",
                                       {{"self", Ref{name}}, {"dims", first}}));
  }
  const auto rename = [&](const Ref& ref) {
    for (const auto& [name, to] : turned) {
      if (ref.name == name) return to;
    }
    return ref;
  };
  for (Node node : before) {
    rename_operands(node, rename);
    nodes.push_back(std::move(node));
  }
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    p.outputs[o] = rename(p.outputs[o]);
    if (!axis->outputs[o]) continue;
    p.outputs[o] = w.insert(nodes, "turned_back", "aten.flip.default",
                            {{"self", p.outputs[o]}, {"dims", first}});
  }
  p.nodes = std::move(nodes);
  Twins t = std::move(w).twins(r, "the batch reversed on the way in and out");
  if (is_exact_pointwise(bound, r.is_eager, r.table)) {
    t.correspond = Correspondence::kBits;
    t.gradients = false;
  }
  std::vector<Twins> all;
  all.push_back(std::move(t));
  return all;
}

// What was drawn is all that is returned, so that arithmetic around it may round as it likes. Of
// dropout only which elements are kept.
std::vector<Twins> equal_random(const Related& r) {
  if (r.is_eager) return {};
  // Inductor draws by a generator of its own, and other numbers under its option fallback_random
  // too (seen on 2.11.0): it is not asked.
  const SystemSpec& system = r.system;
  if (system.name != "aot_eager" && system.name != "torchscript") return {};
  Case c = bind_symbols(r.test);
  c.model.reset();
  c.module.reset();
  std::vector<Ref> drawn;
  const std::vector<Node> before = c.program.nodes;
  std::vector<Node> nodes;
  for (const Node& node : before) {
    nodes.push_back(node);
    if (!draws_random(node.op)) continue;
    if (is_function_of_draw(node.op)) {
      drawn.push_back({node.name});
      continue;
    }
    const std::string kept = fresh_name(c.program, node.name + "_kept");
    Node kept_node{
        kept, "aten.ne.Scalar", {{"self", Ref{node.name}}, {"other", Scalar{std::int64_t{0}}}}};
    c.program.nodes.push_back(kept_node);
    nodes.push_back(std::move(kept_node));
    drawn.push_back({kept});
  }
  if (drawn.empty()) return {};
  c.program.nodes = std::move(nodes);
  c.program.outputs = std::move(drawn);
  c.program = without_dead_code(c.program, r.table);
  c.wrt.clear();
  c.cotangents.assign(c.program.outputs.size(), std::nullopt);
  Twins t{c, c, {"eager@py", {}, r.system.environment}, system, Correspondence::kBits};
  t.form = to_string(system) + ", and eager, from one generator state";
  return {std::move(t)};
}

}  // namespace ulpfuzz
