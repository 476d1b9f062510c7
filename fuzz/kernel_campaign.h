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

// Programs whose generated C++ kernels are fuzzed in a process of their own, by libFuzzer: one
// program after another is drawn, compiled by Inductor, its kernels compiled again by clang with
// coverage and sanitizers, and fuzzed (fuzz/targets/kernel.cc). What libFuzzer stops at becomes a
// case with those values, which stock Inductor is judged on: only what is seen there is a finding,
// and goes the road of all findings.
struct KernelCampaignOptions {
  std::uint64_t seed = 0;
  std::optional<double> seconds;         // wall time
  std::optional<std::int64_t> programs;  // both absent: until stopped
  double seconds_a_program = 30;         // of fuzzing, wall time
  std::string only;                      // part of operators' names, as Profile::only
  std::optional<Case> test;              // this program alone, forward; lowered
  SystemSpec system = {"inductor", {}, ""};
  std::filesystem::path store = "ulpfuzz-store";
  double reduction_cpu_seconds = 120;
  bool keep = false;  // folders of programs in which nothing was found, too
  SchedulerOptions scheduler;
};

struct KernelCampaignSummary {
  std::int64_t programs = 0;     // drawn
  std::int64_t fuzzed = 0;       // of them: whose results are made by kernels alone
  std::int64_t stopped_at = 0;   // times: libFuzzer stopped at something
  std::int64_t confirmed = 0;    // of them: stock Inductor shows it
  std::int64_t executions = 0;
  std::map<std::string, std::int64_t> not_fuzzed;  // by reason
  std::vector<CampaignFinding> findings;           // new ones
  std::int64_t occurrences = 0;
  double fuzzing_cpu_seconds = 0, cpu_seconds = 0, wall_seconds = 0;
  bool stopped = false;  // by the user
};

// Folders of programs (kernels/folder.h) are in `store`/kernels/SEED-INDEX. Throws NotAvailable
// without clang++ or Inductor.
KernelCampaignSummary run_kernel_campaign(const KernelCampaignOptions& options,
                                          const OpTable& table, const std::atomic<bool>& stop,
                                          const std::function<void(const CampaignStatus&)>& show);

// Case `index` of the stream: forward, on a CPU, with one thread, of few and small tensors; every
// other one has one operator alone. Throws Error as generate_case() does.
Case kernel_case(std::uint64_t seed, std::uint64_t index, const OpTable& table,
                 const std::string& only);

}  // namespace ulpfuzz
