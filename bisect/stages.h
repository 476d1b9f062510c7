#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bisect/probe.h"

namespace ulpfuzz {

// A compiler's stage: the system that does everything up to it, by the compiler's own switches.
struct CompilerStage {
  std::string_view name;     // "post-grad passes"
  std::string_view meaning;  // what this system does that the one before does not
  std::string_view system;   // "inductor[use_post_grad_passes=0]"; "": the system itself
};

// In the order in which a program goes through them. Throws Error for a system without stages.
std::span<const CompilerStage> stages_of(const SystemSpec& system);

struct StageAnswer {
  const CompilerStage* stage = nullptr;
  SystemSpec system;
  Probed probed;
};

struct StagesFound {
  std::vector<StageAnswer> answers;       // one a stage
  const CompilerStage* first = nullptr;   // the first that fails after one that passes; null: none
  const CompilerStage* passes = nullptr;  // the last testable one before it
  bool monotone = true;                   // no stage behind it passes
};

// Asks every stage, the whole system first: where that does not fail, no other is asked. The
// options of `system` (a planted fault too) go into each that compiles.
StagesFound bisect_stages(const SystemSpec& system, Probe& probe, Scheduler& scheduler);

}  // namespace ulpfuzz
