#include <algorithm>
#include <array>
#include <cmath>

#include "systems/fault_families.h"
#include "systems/fault_planter.h"

// Attention and rotary embeddings.
namespace ulpfuzz {
namespace {

constexpr std::string_view kAttention = "aten.scaled_dot_product_attention.default";

bool scale_attention(Planter& p, double factor) {
  bool any = false;
  for (Node& node : p.nodes()) {
    if (node.op != kAttention) continue;
    double scale =
        1 / std::sqrt(static_cast<double>(p.type(*p.tensor(node, "query")).shape.back()));
    if (const Argument* given = node.find("scale")) {
      if (const auto* value = std::get_if<double>(given)) scale = *value;
    }
    p.set(node, "scale", scale * factor);
    any = true;
  }
  return any;
}

std::int64_t heads(Planter& p, const Node& attention, std::string_view arg) {
  const Shape& shape = p.type(*p.tensor(attention, arg)).shape;
  return shape.size() < 3 ? 1 : shape[shape.size() - 3];
}

// Gives every attention with two key heads or more, and so many query heads to each, other keys and
// values: `change(at, stem, tensor)` puts a node in front of node `at`.
template <class Change>
bool change_kv(Planter& p, std::int64_t least_group, const Change& change) {
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (p.nodes()[i].op != kAttention) continue;
    const std::int64_t kv_heads = heads(p, p.nodes()[i], "key");
    if (kv_heads < 2 || heads(p, p.nodes()[i], "query") / kv_heads < least_group) continue;
    for (const std::string arg : {"key", "value"}) {
      const Node& attention = p.nodes()[i];
      const Ref changed = change(i, attention.name + "_" + arg, *p.tensor(attention, arg));
      p.set(p.nodes()[++i], arg, changed);
    }
    any = true;
  }
  return any;
}

// Query head h belongs to key head h / group; here it gets h mod (number of key heads).
bool interleave_kv(Planter& p, double /*unused*/) {
  return change_kv(p, 2, [&](std::size_t at, const std::string& stem, const Ref& tensor) {
    const Shape shape = p.type(tensor).shape;
    const auto attention = p.nodes()[at];
    const std::int64_t group =
        heads(p, attention, "query") / std::max<std::int64_t>(shape[shape.size() - 3], 1);
    std::vector<Dim> repeats(shape.size(), Dim(1));
    repeats[repeats.size() - 3] = Dim(group);
    return p.insert(at, stem, "repeat.default",
                    {{"self", tensor}, {"repeats", std::move(repeats)}});
  });
}

bool swap_kv(Planter& p, double /*unused*/) {
  return change_kv(p, 1, [&](std::size_t at, const std::string& stem, const Ref& tensor) {
    return p.insert(at, stem, "flip.default", {{"self", tensor}, {"dims", std::vector<Dim>{-3}}});
  });
}

// A causal mask whose row i ends at key i + 1.
bool shift_causal_mask(Planter& p, double /*unused*/) {
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (p.nodes()[i].op != kAttention) continue;
    const Argument* causal = p.nodes()[i].find("is_causal");
    if (causal == nullptr || *causal != Argument(true)) continue;
    const auto length = [&](std::string_view arg) {
      const Shape& shape = p.type(*p.tensor(p.nodes()[i], arg)).shape;
      return shape[shape.size() - 2];
    };
    const std::int64_t queries = length("query"), keys = length("key");
    if (queries < 1 || keys < 2) continue;
    Insertion mask(p, i, p.nodes()[i].name + "_mask");
    const Ref ones = mask.call("full.default", {{"size", std::vector<Dim>{queries, keys}},
                                                {"fill_value", Scalar{true}},
                                                {"dtype", DType::kBool}});
    const Ref lower = mask.call("tril.default", {{"self", ones}, {"diagonal", Dim(1)}});
    i = mask.at();
    p.set(p.nodes()[i], "attn_mask", lower);
    p.set(p.nodes()[i], "is_causal", false);
    any = true;
  }
  return any;
}

// `..._k_rope` is the key after the rotary embedding of `..._k_heads` (generators/).
bool skip_k_rope(Planter& p, double /*unused*/) {
  constexpr std::string_view kAfter = "_k_rope";
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    const std::string& name = p.nodes()[i].name;
    if (!name.ends_with(kAfter)) continue;
    const std::string before = name.substr(0, name.size() - kAfter.size()) + "_k_heads";
    if (p.test().program.find_node(before) == nullptr) continue;
    p.redirect({name, 0}, {before, 0}, i + 1);
    any = true;
  }
  return any;
}

// Halves are turned as cat(-high, low); here they stay in their places: cat(low, -high).
bool swap_rope_halves(Planter& p, double /*unused*/) {
  const auto is_negated = [&](const Ref& ref) {
    const Node* node = p.test().program.find_node(ref.name);
    return node != nullptr && node->op == "aten.neg.default";
  };
  bool any = false;
  for (Node& node : p.nodes()) {
    if (node.op != "aten.cat.default") continue;
    auto tensors = std::get<std::vector<Ref>>(*node.find("tensors"));
    if (tensors.size() != 2 || !is_negated(tensors[0]) || is_negated(tensors[1])) continue;
    if (p.type(tensors[0]) != p.type(tensors[1])) continue;
    std::swap(tensors[0], tensors[1]);
    p.set(node, "tensors", std::move(tensors));
    any = true;
  }
  return any;
}

constexpr std::array kScales{
    FaultStrength{1.1, FaultEffect::kSemantic}, FaultStrength{1.03, FaultEffect::kSemantic},
    FaultStrength{1.01, FaultEffect::kSmall}, FaultStrength{1.003, FaultEffect::kSmall}};

constexpr std::array kFaults{
    Fault{{.name = "attn-scale",
           .in_program = true,
           .meaning = "multiplies every attention scale by the value",
           .strengths = kScales},
          &scale_attention},
    Fault{{.name = "kv-interleave",
           .in_program = true,
           .meaning = "query heads take key heads in turns, not in groups"},
          &interleave_kv},
    Fault{{.name = "kv-swapped",
           .in_program = true,
           .meaning = "groups of query heads take key heads from the last to the first"},
          &swap_kv},
    Fault{{.name = "causal-off-by-one",
           .in_program = true,
           .meaning = "causal attention sees one key more"},
          &shift_causal_mask},
    Fault{{.name = "rope-k-skipped",
           .in_program = true,
           .meaning = "attention sees keys without their rotary embedding"},
          &skip_k_rope},
    Fault{{.name = "rope-half-swapped",
           .in_program = true,
           .meaning = "rotary embeddings take the other half of each head: cat(low, -high)"},
          &swap_rope_halves},
};

}  // namespace

std::span<const Fault> attention_faults() { return kFaults; }

}  // namespace ulpfuzz
