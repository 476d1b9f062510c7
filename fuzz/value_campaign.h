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

// Programs whose values are fuzzed, one after another, by libFuzzer in a process of their own, and
// what it stops at. With kKernels Inductor compiles them, and clang compiles its kernels again with
// coverage and sanitizers (fuzz/targets/kernel.cc); with kOperators each is one operator, which
// LibTorch runs in several layouts (fuzz/targets/operator.cc). What libFuzzer stops at becomes a
// case with those values, which the stock system is judged on: only what is seen there is a
// finding, and goes the road of all findings.
struct ValueCampaignOptions {
  enum class Subject : std::uint8_t { kKernels, kOperators };
  Subject subject = Subject::kKernels;
  std::uint64_t seed = 0;
  std::optional<double> seconds;             // wall time
  std::optional<std::int64_t> programs;      // both absent: until stopped
  double seconds_a_program = 30;             // of fuzzing, wall time
  std::string only;                          // part of operators' names, as Profile::only
  std::optional<Case> test;                  // this program alone; lowered
  SystemSpec system = {"inductor", {}, ""};  // that compiles, and that must show what is found
  std::filesystem::path store = "ulpfuzz-store";
  double reduction_cpu_seconds = 120;
  bool keep = false;  // folders of programs in which nothing was found, too
  SchedulerOptions scheduler;
};

struct ValueCampaignSummary {
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

// Folders of programs are in `store`/kernels/SEED-INDEX (kernels/folder.h) or
// `store`/operators/SEED-INDEX (kernels/layouts.h). Throws NotAvailable without clang or the
// system.
ValueCampaignSummary run_value_campaign(const ValueCampaignOptions& options, const OpTable& table,
                                        const std::atomic<bool>& stop,
                                        const std::function<void(const CampaignStatus&)>& show);

}  // namespace ulpfuzz
