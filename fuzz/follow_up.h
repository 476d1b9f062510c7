#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/investigate.h"
#include "fuzz/store.h"
#include "report/reportable.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

struct CampaignFinding {
  Store::StoredFinding stored;
  Reportable gate;  // after a second look, where that was all it lacked
};

// From a verdict of a campaign to its store: counted where the store knows it, else reduced,
// written up and stored.
class FollowUp {
 public:
  // Refers to all of them. `judge`: how verdicts are reached.
  FollowUp(Store& store, const OpTable& table, const JudgeOptions& judge, Scheduler& scheduler);

  struct Limits {
    double cpu_budget_seconds = 120;
    std::function<bool()> stopped;                 // the time is over: stored as far as it came
    std::function<bool()> given_up;                // by the user: nothing is stored
    std::function<void(const std::string&)> show;  // what is being done
  };
  enum class Outcome : std::uint8_t { kKnown, kNew, kLost };
  // kLost: it was not seen again, or was given up.
  Outcome follow(const Case& c, const Verdict& verdict, std::int64_t campaign, std::uint64_t index,
                 const Limits& limits);

  const std::vector<CampaignFinding>& found() const { return found_; }  // kNew ones

 private:
  // A finding as a pattern: another case with the same signature that contains its operators is
  // taken for the same thing and only counted.
  struct Known {
    Signature signature;
    std::multiset<std::string> operators;
    Store::StoredFinding stored;
  };

  Store& store_;
  const OpTable& table_;
  const JudgeOptions& judge_;
  Scheduler& scheduler_;
  std::vector<Known> known_;
  std::vector<CampaignFinding> found_;
};

}  // namespace ulpfuzz
