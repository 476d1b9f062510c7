#include "fuzz/kernel_choice.h"

#include <algorithm>

#include "fuzz/investigate.h"
#include "generators/circumstances.h"
#include "ir/error.h"
#include "judge/facts.h"

namespace ulpfuzz {
namespace {

const SystemSpec kEager{"eager@py", {}, ""};

const Run* run_of(const Judged& judged, const Case& c, const SystemSpec& system) {
  for (const Evidence& e : judged.evidence) {
    if (e.request.system == system && e.request.test == c) return &e.run;
  }
  return nullptr;
}

KernelChoiceCell cell_of(const Judged& judged, const Case& c, const SystemSpec& system) {
  KernelChoiceCell cell;
  cell.system = to_string(system);
  const Run* run = run_of(judged, c, system);
  cell.completed = run != nullptr && run->completed();
  if (cell.completed) {
    cell.forward = attention_kernels(*run);
    if (c.environment.grad && !c.wrt.empty()) cell.backward = attention_kernels(*run, "backward");
  } else if (run != nullptr) {
    cell.detail = run->exception_message.substr(0, run->exception_message.find('\n'));
  }
  const auto verdict = std::ranges::find(judged.verdicts, cell.system, &Verdict::system);
  if (verdict == judged.verdicts.end()) return cell;
  cell.verdict = verdict->primary;
  for (const Fact& fact : verdict->facts) {
    if (fact.kind == verdict->primary && is_finding(fact.kind)) cell.detail = fact.detail;
  }
  return cell;
}

}  // namespace

std::vector<SdpaChoice> sdpa_choices(const std::string& device) {
  std::vector<SdpaChoice> choices;
  for (const bool set_priority : {false, true}) {
    for (const std::vector<SdpaKernel>& list : sdpa_lists(device)) {
      if (set_priority || std::ranges::is_sorted(list)) choices.push_back({list, set_priority});
    }
  }
  return choices;
}

std::vector<KernelChoiceRow> try_kernel_choices(const Case& lowered,
                                                const std::vector<SystemSpec>& others,
                                                const OpTable& table, Scheduler& scheduler) {
  if (std::ranges::none_of(lowered.program.nodes, [](const Node& node) {
        return node.op == "aten.scaled_dot_product_attention.default";
      })) {
    throw Error("program", "has no scaled_dot_product_attention");
  }
  std::vector<SystemSpec> systems{kEager};
  for (const SystemSpec& system : others) {
    if (std::ranges::find(systems, system) == systems.end()) systems.push_back(system);
  }
  std::vector<KernelChoiceRow> rows;
  std::vector<Case> cases;
  for (const SdpaChoice& choice : sdpa_choices(lowered.environment.device)) {
    rows.push_back({choice});
    cases.push_back(lowered);
    cases.back().environment.sdpa = choice;
    cases.back().environment.primed_by.reset();
  }
  JudgeOptions judge;
  judge.systems = systems;
  judge.confirm = judge.values = false;
  judge.ladder = JudgeOptions::Ladder::kNone;
  const std::vector<Judged> judged = judge_cases(cases, judge, table, scheduler, Company::kSingle);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const SystemSpec& system : systems) {
      rows[i].cells.push_back(cell_of(judged[i], cases[i], system));
    }
  }
  return rows;
}

Case attention_call(const std::string& device) {
  Case c;
  Node node{"y", "aten.scaled_dot_product_attention.default", {}};
  std::uint64_t seed = 0;
  for (const std::string name : {"query", "key", "value"}) {
    c.program.inputs.push_back({name, DType::kBFloat16, {Dim(2), Dim(4), Dim(64), Dim(64)}});
    InputData data;
    data.fill.seed = ++seed;
    data.fill.grid = DType::kBFloat16;
    c.inputs.push_back(std::move(data));
    c.wrt.push_back(name);
    node.args.push_back({name, Ref{name, 0}});
  }
  c.program.nodes.push_back(std::move(node));
  c.program.outputs.push_back({"y", 0});
  Cotangent cotangent;
  cotangent.fill.seed = ++seed;
  cotangent.fill.grid = DType::kBFloat16;
  c.cotangents.push_back(cotangent);
  c.environment.device = device;
  c.environment.grad = true;
  return c;
}

}  // namespace ulpfuzz
