#include <fmt/format.h>

#include <map>

#include "calibration/calibrate.h"

// What must hold of the judge. A rate breaks its limit when its whole interval lies above: a small
// calibration cannot say more.
namespace ulpfuzz {
namespace {

constexpr double kMostLessAccurate = 0.001;
constexpr double kMostUndecided = 0.02;

// Adds the same rate of several populations up.
struct Sum {
  std::int64_t count = 0, of = 0;
  void add(const Proportion& p) { count += p.count, of += p.of; }
  Proportion rate() const { return proportion(count, of); }
};

std::string text(const Proportion& p) {
  return fmt::format("{} of {}, {:.3g} to {:.3g} %", p.count, p.of, 100 * p.low, 100 * p.high);
}

void of_legal(const Calibration& c, std::vector<Requirement>& all) {
  Sum others, less_accurate, undecided;
  for (const LegalResult& r : c.legal) {
    if (!r.synthetic) continue;
    std::int64_t count = 0;
    for (const auto& [kind, rate] : r.verdicts) {
      if (is_finding(kind) && kind != VerdictKind::kLessAccurate) count += rate.count;
    }
    others.count += count, others.of += r.runs;
    less_accurate.add(r.verdicts.at(VerdictKind::kLessAccurate));
    undecided.add(r.verdicts.at(VerdictKind::kUndecided));
  }
  if (others.of == 0) return;
  all.push_back({"no legal execution is called wrong, or anything but less accurate",
                 others.count == 0, text(others.rate())});
  all.push_back({"at most 0.1 % of legal executions are called less accurate",
                 less_accurate.rate().low <= kMostLessAccurate, text(less_accurate.rate())});
  all.push_back({"at most 2 % of legal executions are undecided",
                 undecided.rate().low <= kMostUndecided, text(undecided.rate())});
}

void of_real(const Calibration& c, std::vector<Requirement>& all) {
  bool any = false;
  std::map<std::string, int> adjudged;
  for (const LegalResult& r : c.legal) {
    if (r.synthetic) continue;
    any = true;
    for (const LegalResult::Alarm& alarm : r.alarms) ++adjudged[alarm.adjudication];
  }
  if (!any) return;
  all.push_back({"a person has looked into every alarm against a real system", adjudged[""] == 0,
                 fmt::format("{} real, {} false, {} nobody has looked into", adjudged["real"],
                             adjudged["false"], adjudged[""])});
}

void of_fit(const Calibration& c, std::vector<Requirement>& all) {
  for (const FitResult& f : c.fit) {
    if (f.tensors == 0) continue;
    all.push_back(
        {fmt::format("at most 0.2 % of tensors lie beyond the margin: {}, {}", f.rung, f.statistic),
         f.beyond.low <= 0.002, text(f.beyond)});
  }
}

void of_faults(const Calibration& c, std::vector<Requirement>& all) {
  if (c.faults.empty()) return;
  Sum large;
  std::map<std::string, Sum> within;  // by fault
  for (const FaultResult& r : c.faults) {
    large.add(r.large);
    within[r.fault].add(r.within);
  }
  all.push_back({"every fault that changes a result by 3 % or more is found on one input set",
                 large.count == large.of, text(large.rate())});
  // One input set is not enough for small ones.
  if (c.fault_seeds < 2) return;
  std::string never;
  int kinds = 0;
  for (const auto& [fault, sum] : within) {
    kinds += sum.of > 0;
    if (sum.of > 0 && sum.count == 0) never += (never.empty() ? "" : ", ") + fault;
  }
  all.push_back(
      {fmt::format("every kind of fault is found in some case within {} input sets", c.fault_seeds),
       never.empty(), never.empty() ? fmt::format("{} kinds", kinds) : "never: " + never});
}

}  // namespace

std::vector<Requirement> requirements(const Calibration& calibration) {
  std::vector<Requirement> all;
  of_legal(calibration, all);
  of_real(calibration, all);
  of_fit(calibration, all);
  of_faults(calibration, all);
  return all;
}

}  // namespace ulpfuzz
