#include "bisect/stages.h"

#include <array>

#include "ir/error.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

// Of "lite" inductor every operator is a call of ATen's kernel, so that what is left of it are its
// passes over graphs; then its own code, at first for each operator alone and without vectors.
constexpr std::array kInductor{
    CompilerStage{"eager", "ATen's kernels", "eager@py"},
    CompilerStage{"dynamo", "TorchDynamo's graph of the Python program", "dynamo"},
    CompilerStage{"aot", "AOTAutograd: functional graphs, forward and backward", "aot_eager"},
    CompilerStage{"decompositions", "decompositions, and what backward recomputes",
                  "aot_eager[decompositions=true]"},
    CompilerStage{"graph", "Inductor's scheduling and memory, kernels still ATen's",
                  "inductor[fallback_by_default=1,use_joint_graph_passes=0,use_post_grad_passes=0,"
                  "use_pre_grad_passes=0]"},
    CompilerStage{
        "pre-grad passes", "passes over Dynamo's graph",
        "inductor[fallback_by_default=1,use_joint_graph_passes=0,use_post_grad_passes=0]"},
    CompilerStage{"joint-graph passes",
                  "passes over the joint graph: constants, patterns of attention",
                  "inductor[fallback_by_default=1,use_post_grad_passes=0]"},
    CompilerStage{"post-grad passes", "passes over forward and backward graphs",
                  "inductor[fallback_by_default=1]"},
    CompilerStage{"lowering", "Inductor's own code, scalar, an operator a loop",
                  "inductor[cpp.simdlen=1,max_fusion_size=1]"},
    CompilerStage{"vectorization", "vector code", "inductor[max_fusion_size=1]"},
    CompilerStage{"fusion", "loops that are fused", ""},
};

constexpr std::array kAotEager{
    CompilerStage{"eager", "ATen's kernels", "eager@py"},
    CompilerStage{"dynamo", "TorchDynamo's graph of the Python program", "dynamo"},
    CompilerStage{"aot", "AOTAutograd: functional graphs, forward and backward", ""},
};

}  // namespace

std::span<const CompilerStage> stages_of(const SystemSpec& system) {
  if (system.name == "inductor") return kInductor;
  if (system.name == "aot_eager") return kAotEager;
  throw Error("--stages",
              "of " + system.name + " no stages are known; inductor and aot_eager have some");
}

StagesFound bisect_stages(const SystemSpec& system, Probe& probe, Scheduler& scheduler) {
  StagesFound found;
  const std::span<const CompilerStage> stages = stages_of(system);
  std::map<std::size_t, Answer> answers;
  // The whole system first: what it shows is what is looked for.
  for (std::size_t i = stages.size(); i-- > 0;) {
    SystemSpec here = system;
    if (!stages[i].system.empty()) {
      here = parse_system(stages[i].system);
      here.environment = system.environment;
      const bool same = here.name == system.name;
      for (const auto& [option, value] : system.options) {
        if (system_kind(here.name).compiles && (same || option == "fault")) {
          here.options.emplace(option, value);
        }
      }
    }
    found.answers.insert(found.answers.begin(), {&stages[i], here, probe.ask(here, scheduler)});
    answers[i] = found.answers.front().probed.answer;
    if (i + 1 == stages.size() && answers[i] != Answer::kFails) return found;
  }
  if (const auto change = first_failing(answers)) {
    found.first = &stages[change->after];
    found.passes = &stages[change->before];
    for (std::size_t i = change->after; i < stages.size(); ++i) {
      found.monotone = found.monotone && answers[i] != Answer::kPasses;
    }
  }
  return found;
}

}  // namespace ulpfuzz
