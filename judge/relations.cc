#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "ir/error.h"
#include "judge/facts.h"
#include "judge/relation.h"
#include "judge/twins.h"

namespace ulpfuzz {
namespace {

void eager_twice(const BesideEager& b) {
  if (b.run.has_values) determinism_facts(b.run, b.rung, b.facts);
}

// Of each input set once.
void compiled_metadata(const BesideEager& b) {
  if (b.is_eager || !b.run.has_values) return;
  std::set<std::uint64_t> open(b.input_sets.begin(), b.input_sets.end());
  const std::size_t n = std::min(b.run.executions.size(), b.eager.executions.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (open.erase(b.run.executions[i].input_set) == 0) continue;
    metadata_facts(b.run.executions[i], b.eager.executions[i], b.rung, b.facts);
  }
}

void fake_real(const BesideEager& b) {
  if (!b.run.has_values) fake_facts(b.run, b.eager, b.rung, b.facts);
}

// The one list of relations. `broken` where bits must be equal: `wrong` where each element is a
// correctly rounded function of the inputs, so that one of the two cannot be right.
constexpr std::array kRelations{
    Relation{.name = "repeated",
             .meaning = "two executions of one input in one process give equal bits",
             .look = &eager_twice},
    Relation{.name = "metadata",
             .meaning = "compiled results have eager's dtypes, shapes, strides and storage",
             .look = &compiled_metadata},
    Relation{.name = "fake-real",
             .meaning = "a fake kernel's layouts are the real one's (system fake@py)",
             .look = &fake_real},
    Relation{.name = "warm-cold",
             .meaning = "code from the compiler's graph cache gives the bits of code made anew",
             .cheap = false,
             .broken = VerdictKind::kNondeterministic,
             .twins = &warm_caches},
    Relation{.name = "gqa-repeated",
             .meaning = "attention with grouped queries is that with keys and values repeated",
             .twins = &repeated_kv},
    Relation{.name = "sdpa-kernels",
             .meaning = "each kernel of scaled_dot_product_attention gives the same",
             .twins = &other_kernels},
    Relation{.name = "causal-mask",
             .meaning = "is_causal is the lower triangle as an explicit mask",
             .twins = &masked_attention},
    Relation{.name = "permuted-batch",
             .meaning = "entries of a batch do not depend on their place in it",
             .twins = &permuted_batch},
    Relation{.name = "dynamic-static",
             .meaning = "code for dynamic shapes gives what code for these shapes gives",
             .twins = &other_dynamic},
    Relation{.name = "strided-contiguous",
             .meaning = "results do not depend on where the inputs' elements lie in memory",
             .twins = &other_layout},
    Relation{.name = "equal-random",
             .meaning = "equal generator state draws equal numbers in eager and compiled",
             .broken = VerdictKind::kNondeterministic,
             .twins = &equal_random},
};

}  // namespace

std::span<const Relation> relations() { return kRelations; }

const Relation* find_relation(std::string_view name) {
  const auto found = std::ranges::find(kRelations, name, &Relation::name);
  return found == kRelations.end() ? nullptr : &*found;
}

const Relation* relation_of(const Fact& fact) {
  const std::size_t end = fact.detail.find(": ");
  if (end == std::string::npos) return nullptr;
  const Relation* found = find_relation(std::string_view(fact.detail).substr(0, end));
  return found != nullptr && found->twins != nullptr ? found : nullptr;
}

std::vector<std::string> chosen_relations(const std::string& list) {
  std::vector<std::string> names;
  const bool all = list == "all";
  if (list == "none") return names;
  if (all || list == "cheap") {
    for (const Relation& relation : kRelations) {
      if (relation.twins != nullptr && (all || relation.cheap)) names.emplace_back(relation.name);
    }
    return names;
  }
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    const Relation* relation = find_relation(name);
    if (relation == nullptr) {
      std::string known;
      for (const Relation& r : kRelations) {
        if (r.twins != nullptr) known += ", " + std::string(r.name);
      }
      throw Error("--relations",
                  fmt::format("no relation '{}'; there are all, cheap, none{}", name, known));
    }
    if (relation->twins != nullptr) names.push_back(name);
    at = end + 1;
  }
  return names;
}

void free_relation_facts(const BesideEager& beside) {
  for (const Relation& relation : kRelations) {
    if (relation.look != nullptr) relation.look(beside);
  }
}

}  // namespace ulpfuzz
