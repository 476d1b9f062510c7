#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/follow_up.h"
#include "fuzz/store.h"
#include "generators/generate.h"
#include "judge/error_rate.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

struct CampaignOptions {
  std::uint64_t seed = 0;
  std::optional<double> seconds;      // wall time
  std::optional<std::int64_t> cases;  // both absent: until stopped
  std::vector<SystemSpec> systems;    // default: inductor
  std::filesystem::path store = "ulpfuzz-store";
  bool resume = false;                      // go on with the store's last campaign
  double reduction_cpu_seconds = 120;       // for one finding, of systems; less when time is short
  std::vector<std::string> relations = {};  // JudgeOptions::relations
  Profile profile;
  SchedulerOptions scheduler;
};

// What a campaign shows while it runs.
struct CampaignStatus {
  std::int64_t cases = 0, valid = 0, findings = 0, occurrences = 0;
  double wall_seconds = 0;
  std::optional<double> seconds_left;
  std::map<std::string, std::int64_t> verdicts;  // by kind
  std::string doing;  // "compiling 32 programs", "reducing inductor: nan-mismatch"
};

struct CampaignSummary {
  std::int64_t cases = 0, valid = 0;
  std::map<std::pair<std::string, std::string>, std::int64_t> verdicts;  // (kind, system)
  std::vector<CampaignFinding> findings;                                 // of this campaign
  ErrorRate errors;  // of the statistical claims of the whole campaign, from its first case on
  double cpu_seconds = 0;  // whole process tree
  double wall_seconds = 0;
  double share_in_systems = 0;  // of the wall, during which a system was at work
  bool stopped = false;         // by the user
};

// Generates, runs, judges, reduces and stores until the time or the number of cases is reached or
// `stop` is set. Time is shared: a new finding is reduced at once, within a budget, and reduction
// is cut short so that the campaign ends in time; what could not be reduced is stored as it is.
CampaignSummary run_campaign(const CampaignOptions& options, const OpTable& table,
                             const std::atomic<bool>& stop,
                             const std::function<void(const CampaignStatus&)>& show);

}  // namespace ulpfuzz
