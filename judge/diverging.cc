#include "judge/diverging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "judge/facts.h"
#include "judge/model.h"
#include "judge/rung.h"
#include "judge/statistics.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Without gradients, and without what its program was built from.
Case forward_of(const Case& c) {
  Case forward = c;
  forward.model.reset();
  forward.module.reset();
  forward.wrt.clear();
  return forward;
}

std::vector<std::string> nodes_of(const Program& program, const OpTable& table) {
  std::vector<std::string> names;
  for (const Node& node : program.nodes) {
    if (!table.at(node.op).row->numerics.is_view) names.push_back(node.name);
  }
  return names;
}

}  // namespace

Case with_intermediates(const Case& c, const OpTable& table, std::vector<std::string>& nodes) {
  Case shown = forward_of(c);
  const Types types = verify(c.program, table);
  nodes.clear();
  std::vector<Ref>& outputs = shown.program.outputs;
  for (const Ref& ref : outputs) {
    nodes.push_back(c.program.find_node(ref.name) == nullptr ? "" : ref.name);
  }
  for (const std::string& name : nodes_of(c.program, table)) {
    for (int i = 0; i < types.outputs(name); ++i) {
      const Ref ref{name, i};
      if (std::ranges::find(outputs, ref) != outputs.end()) continue;
      outputs.push_back(ref);
      nodes.push_back(name);
    }
  }
  shown.cotangents.assign(outputs.size(), std::nullopt);
  return shown;
}

Case up_to(const Case& c, const std::string& node, const OpTable& table) {
  Case prefix = forward_of(c);
  const Types types = verify(c.program, table);
  const auto at = std::ranges::find(prefix.program.nodes, node, &Node::name);
  prefix.program.nodes.erase(at + 1, prefix.program.nodes.end());
  prefix.program.outputs.clear();
  for (int i = 0; i < types.outputs(node); ++i) prefix.program.outputs.push_back({node, i});
  prefix.program = without_dead_code(prefix.program, table);
  std::vector<std::size_t> kept;
  prefix.program = without_unused_inputs(prefix.program, kept);
  std::vector<InputData> inputs;
  for (const std::size_t i : kept) inputs.push_back(prefix.inputs[i]);
  prefix.inputs = std::move(inputs);
  prefix.cotangents.assign(prefix.program.outputs.size(), std::nullopt);
  return prefix;
}

DivergingSearch::DivergingSearch(const Case& c, const SystemSpec& system, std::uint64_t input_set,
                                 const OpTable& table)
    : case_(c), system_(system), input_set_(input_set), table_(table) {}

const Run* DivergingSearch::ask(const Case& shown, const SystemSpec& system,
                                const std::vector<Evidence>& evidence,
                                std::vector<RunRequest>& requests) const {
  const RunRequest request{shown, system, {input_set_}};
  const std::string hash = request.hash();
  for (const Evidence& e : evidence) {
    if (e.request.hash() == hash) return &e.run;
  }
  requests.push_back(request);
  return nullptr;
}

std::optional<DivergingSearch::Outside> DivergingSearch::outside(const Case& shown, const Run& run,
                                                                 const Run& eager,
                                                                 std::size_t output,
                                                                 const std::string& rung) {
  const std::string key = hashes(shown).whole + " " + std::to_string(output);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  // All outputs of this case are judged at once.
  const Oracle oracle(table_);
  const Exact exact = oracle.exact(shown, input_set_);
  LegalRuns legal;
  if (!exact.quad) {
    legal = oracle.legal(shown, input_set_, freedom_of(system_), model::kLegalRuns, input_set_);
  }
  for (std::size_t i = 0; i < shown.program.outputs.size(); ++i) {
    std::optional<Outside>& result = known_[hashes(shown).whole + " " + std::to_string(i)];
    const ExactTensor& truth = exact.tensors[i];
    const TensorResult* got = run.executions.front().find(truth.name);
    const TensorResult* beside = eager.executions.front().find(truth.name);
    if (got == nullptr || !got->present) continue;
    std::vector<Fact> facts;
    const ElementCheck check = check_elements(*got, beside, truth, rung, facts);
    const auto fact = std::ranges::find_if(
        facts, [](const Fact& f) { return f.kind <= VerdictKind::kLessAccurate; });
    if (fact != facts.end()) {
      result = Outside{fact->strength, fact->detail};
      continue;
    }
    if (check.same_as_eager || i >= legal.values.size() || legal.values[i].empty()) continue;
    const Spread spread_of = spread(legal.values[i], truth);
    if (!spread_of.valid || !check.comparable) continue;
    const double ratio = log_ratio(got->reals(), truth, spread_of);
    const auto [margin, misfit] = allowance(Statistic::kDrift, rung);
    if (ratio - margin <= model::kDiverges * std::hypot(spread_of.sd_log, misfit)) continue;
    result = Outside{"statistical",
                     fmt::format("{}: RMS error {:.3g} is {:.3g} times that of a legal execution",
                                 truth.name, check.measure.rms_error, std::exp(ratio))};
  }
  return known_[key];
}

DivergingSearch::Step DivergingSearch::with_all(const Case& c,
                                                const std::vector<Evidence>& evidence,
                                                const Execution* run) {
  std::vector<std::string> nodes;
  const Case shown = with_intermediates(c, table_, nodes);
  Step step;
  const Run* system = ask(shown, system_, evidence, step.requests);
  const Run* eager = ask(shown, eager_beside(system_), evidence, step.requests);
  if (system == nullptr || eager == nullptr) return step;
  if (!system->completed() || !eager->completed()) return step;
  const std::string rung(name(narrowest_floating(c)));
  for (const Node& node : c.program.nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] != node.name) continue;
      const auto found = outside(shown, *system, *eager, i, rung);
      if (!found) continue;
      step.first = Diverging{node.name, node.op, rung, found->strength, found->detail, true};
      if (run == nullptr) return step;
      step.first->same_bits = true;
      for (std::size_t o = 0; o < c.program.outputs.size(); ++o) {
        const std::string output = "output " + std::to_string(o);
        const TensorResult* before = run->find(output);
        const TensorResult* now = system->executions.front().find(output);
        const bool same = before != nullptr && now != nullptr && before->bytes == now->bytes;
        step.first->same_bits = step.first->same_bits && same;
      }
      return step;
    }
  }
  return step;
}

DivergingSearch::Step DivergingSearch::with_prefixes(const Case& c,
                                                     const std::vector<Evidence>& evidence) {
  const std::vector<std::string> nodes = nodes_of(c.program, table_);
  const std::string rung(name(narrowest_floating(c)));
  // Everything before `low` is inside; `high` is outside, or the end.
  std::size_t low = 0, high = nodes.size();
  std::optional<Diverging> first;
  while (low < high) {
    std::vector<std::size_t> cuts;
    for (std::size_t s = 1; s <= model::kSections; ++s) {
      const std::size_t cut = low + (high - low) * s / model::kSections;
      if (cut > low && (cuts.empty() || cuts.back() != cut - 1)) cuts.push_back(cut - 1);
    }
    Step step;
    bool narrowed = false;
    std::vector<std::optional<Outside>> found(cuts.size());
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const Case prefix = up_to(c, nodes[cuts[i]], table_);
      const Run* system = ask(prefix, system_, evidence, step.requests);
      const Run* eager = ask(prefix, eager_beside(system_), evidence, step.requests);
      if (system == nullptr || eager == nullptr) continue;
      if (!system->completed() || !eager->completed()) continue;
      for (std::size_t o = 0; o < prefix.program.outputs.size() && !found[i]; ++o) {
        found[i] = outside(prefix, *system, *eager, o, rung);
      }
    }
    if (!step.requests.empty()) return step;
    for (std::size_t i = 0; i < cuts.size() && !narrowed; ++i) {
      if (!found[i]) {
        low = cuts[i] + 1;
        continue;
      }
      const std::string& name = nodes[cuts[i]];
      first = Diverging{name, c.program.find_node(name)->op, rung, found[i]->strength,
                        found[i]->detail};
      high = cuts[i];
      narrowed = true;
    }
    if (!narrowed && !first) break;  // no prefix diverges
  }
  return {{}, first};
}

DivergingSearch::Step DivergingSearch::next(const std::vector<Evidence>& evidence,
                                            const Execution& run) {
  std::vector<Case> rungs{forward_of(case_)};
  if (is_half(narrowest_floating(case_))) {
    rungs.push_back(at_rung(rungs.front(), DType::kFloat32, table_));
  }
  const bool one_kind = case_.module.has_value();  // its program is not what the system ran
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Execution* same = i == 0 && !one_kind ? &run : nullptr;
    Step step = with_all(rungs[i], evidence, same);
    if (!step.requests.empty() || step.first) return step;
  }
  for (const Case& rung : rungs) {
    Step step = with_prefixes(rung, evidence);
    if (!step.requests.empty() || step.first) return step;
  }
  return {};
}

const TensorResult* DivergingSearch::shown(const std::vector<Evidence>& evidence,
                                           const std::string& node) const {
  std::vector<std::string> nodes;
  const Case shown = with_intermediates(forward_of(case_), table_, nodes);
  std::vector<RunRequest> unused;
  const Run* run = ask(shown, system_, evidence, unused);
  if (run == nullptr || !run->completed()) return nullptr;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] != node) continue;
    return run->executions.front().find("output " + std::to_string(i));
  }
  return nullptr;
}

}  // namespace ulpfuzz
