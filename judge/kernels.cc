#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "judge/facts.h"

namespace ulpfuzz {
namespace {

constexpr std::string_view kAttention = "aten.scaled_dot_product_attention.default";

// Part of a profiler's name -> SDPBackend's name.
constexpr std::array<std::pair<std::string_view, SdpaKernel>, 6> kFused{{
    {"cudnn_attention", SdpaKernel::kCudnn},
    {"efficient_attention", SdpaKernel::kEfficient},
    {"overrideable", SdpaKernel::kOverrideable},
    {"flash_attention_for_cpu", SdpaKernel::kFlash},
    {"flash_attention", SdpaKernel::kFlash},
    {"attention_math", SdpaKernel::kMath},
}};

}  // namespace

std::string attention_kernel(const Run& run, std::string_view phase) {
  for (const auto& [part, kernel] : kFused) {
    for (const KernelRecord& record : run.kernels) {
      const bool in_phase = phase.empty() || record.phase == phase;
      if (in_phase && record.name.find(part) != std::string::npos) return std::string(name(kernel));
    }
  }
  return std::string(name(SdpaKernel::kMath));  // decomposed: products and a softmax
}

void kernel_facts(const Run& run, const Run& eager, const Case& c, const std::string& rung,
                  std::vector<Fact>& facts) {
  const bool attends = std::any_of(c.program.nodes.begin(), c.program.nodes.end(),
                                   [](const Node& node) { return node.op == kAttention; });
  if (!attends || !c.environment.sdpa) return;
  const std::string ran = attention_kernel(run, "");
  const std::string asked = attention_kernel(eager, "");
  if (ran == asked) return;
  std::string list;
  for (const SdpaKernel kernel : c.environment.sdpa->kernels) {
    list += (list.empty() ? "" : ", ") + std::string(name(kernel));
  }
  Fact fact;
  fact.kind = VerdictKind::kKernelMismatch;
  fact.rung = rung;
  fact.strength = "observed";
  fact.detail = fmt::format("eager ran {}, compiled ran {}: asked for [{}]{}", asked, ran, list,
                            c.environment.sdpa->set_priority ? " in this order" : "");
  facts.push_back(std::move(fact));
}

}  // namespace ulpfuzz
