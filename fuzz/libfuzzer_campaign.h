#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/campaign.h"
#include "fuzz/follow_up.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// What libFuzzer stops at, in a process of its own, and what stock systems say of it. With kKernels
// and kOperators programs are drawn one after another, and their values fuzzed: of kernels that
// Inductor generates, which clang compiles again with coverage and sanitizers
// (fuzz/targets/kernel.cc), or of one operator that LibTorch runs in several layouts
// (fuzz/targets/operator.cc). With kCases whole cases are mutated and crossed, and kept by what the
// compiler did with them (fuzz/targets/case.cc).
//
// All of it becomes cases, which the stock system is judged on: only what is seen there is a
// finding, and goes the road of all findings.
struct LibFuzzerCampaignOptions {
  enum class Target : std::uint8_t { kKernels, kOperators, kCases };
  Target target = Target::kKernels;
  std::uint64_t seed = 0;
  std::optional<double> seconds;             // wall time
  std::optional<std::int64_t> programs;      // both absent: until stopped
  double seconds_each = 30;                  // of fuzzing a program, or of a round; wall time
  std::string only;                          // part of operators' names, as Profile::only
  std::optional<Case> test;                  // this program alone; lowered
  SystemSpec system = {"inductor", {}, ""};  // that compiles, and that must show what is found
  std::filesystem::path store = "ulpfuzz-store";
  double reduction_cpu_seconds = 120;
  bool keep = false;  // folders of programs in which nothing was found, too
  SchedulerOptions scheduler;
};

struct LibFuzzerCampaignSummary {
  std::int64_t programs = 0;    // drawn
  std::int64_t fuzzed = 0;      // of them: those that could be
  std::int64_t stopped_at = 0;  // times: libFuzzer stopped at something
  std::int64_t confirmed = 0;   // of them: the stock system shows it
  std::int64_t executions = 0;
  std::map<std::string, std::int64_t> not_fuzzed;  // by reason
  std::vector<CampaignFinding> findings;           // new ones
  std::int64_t occurrences = 0;
  double fuzzing_cpu_seconds = 0, cpu_seconds = 0, wall_seconds = 0;
  bool stopped = false;  // by the user
};

// The corpus of cases is in `store`/cases/corpus, and grows from campaign to campaign. Folders of
// programs are in `store`/kernels/SEED-INDEX (kernels/folder.h) or
// `store`/operators/SEED-INDEX (kernels/variants.h). Throws NotAvailable without clang or the
// system.
LibFuzzerCampaignSummary run_libfuzzer_campaign(
    const LibFuzzerCampaignOptions& options, const OpTable& table, const std::atomic<bool>& stop,
    const std::function<void(const CampaignStatus&)>& show);

}  // namespace ulpfuzz
