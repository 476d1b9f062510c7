#pragma once

#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/verdict.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// What one system did under one choice.
struct KernelChoiceCell {
  std::string system;
  bool completed = false;
  // What ran; `backward` is empty without gradients.
  std::vector<SdpaKernel> forward = {}, backward = {};
  VerdictKind verdict = VerdictKind::kUndecided;
  std::string detail = {};  // of a finding, or why it did not complete
};

struct KernelChoiceRow {
  SdpaChoice choice;
  std::vector<KernelChoiceCell> cells = {};  // one a system, eager@py first
};

// Every list of generators/circumstances.h with priority, and each set of kernels once without.
std::vector<SdpaChoice> sdpa_choices(const std::string& device);

// Which attention kernel runs under every choice that torch.nn.attention.sdpa_kernel can be given:
// in eager@py, named or not, and the systems. Layouts, endings and kernels are judged; values are
// not. Throws Error for a case without attention.
std::vector<KernelChoiceRow> try_kernel_choices(const Case& lowered,
                                                const std::vector<SystemSpec>& others,
                                                const OpTable& table, Scheduler& scheduler);

// A call that every kernel takes: query, key and value bfloat16 (2, 4, 64, 64), with gradients.
Case attention_call(const std::string& device);

}  // namespace ulpfuzz
