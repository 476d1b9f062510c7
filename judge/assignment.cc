#include "judge/assignment.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ulpfuzz {
namespace {

constexpr double kGain = 1e-9;        // of the objective, that a choice must bring
constexpr double kBranchGain = 1e-3;  // likewise a branch

}  // namespace

AssignmentSearch::AssignmentSearch(const Replay& replay, Fit& fit, int evaluations,
                                   std::vector<std::pair<int, std::vector<double>>> given)
    : replay_(replay), fit_(fit), most_(evaluations), given_(std::move(given)) {
  const std::size_t n = replay_.choices().size();
  const Replay::Decisions wide{std::vector<bool>(n, true), {}, given_};
  constexpr int kScaleRuns = 4;
  scale_ = fit_.noise(wide, *replay_.run(wide), kScaleRuns);
  spent_ += kScaleRuns + 1;
  nominal_ = start(std::vector<bool>(n, false));
  best_ = nominal_;
}

double AssignmentSearch::objective(const std::vector<double>& residuals) const {
  double sum = 0;
  for (std::size_t t = 0; t < residuals.size(); ++t) {
    const double r = residuals[t] / scale_[t];
    sum += 0.5 * std::log1p(r * r);
  }
  return sum;
}

void AssignmentSearch::rescore(Assignment& a) {
  a.residuals = fit_.residuals(*a.state);
  a.objective = objective(a.residuals);
}

Assignment AssignmentSearch::start(std::vector<bool> wide) {
  Assignment a;
  a.decisions.wide = std::move(wide);
  a.decisions.given = given_;
  a.state = replay_.run(a.decisions);
  ++spent_;
  rescore(a);
  return a;
}

Assignment AssignmentSearch::with(const Assignment& from, Replay::Decisions decisions) {
  Assignment a;
  a.decisions = std::move(decisions);
  a.state = replay_.change(from.state, a.decisions);
  a.residuals = fit_.residuals(*a.state, *from.state, from.residuals);
  a.objective = objective(a.residuals);
  ++spent_;
  return a;
}

Assignment AssignmentSearch::with(const Assignment& from, std::size_t choice, bool wide) {
  Replay::Decisions decisions = from.decisions;
  decisions.wide[choice] = wide;
  return with(from, std::move(decisions));
}

bool AssignmentSearch::reproduces(const Assignment& a, const std::vector<double>& noise) {
  for (std::size_t t = 0; t < noise.size(); ++t) {
    if (a.residuals[t] > kReplayFactor * noise[t]) return false;
  }
  return true;
}

std::vector<double> AssignmentSearch::noise(const Assignment& a) {
  spent_ += kNoiseRuns;
  return fit_.noise(a.decisions, *a.state, kNoiseRuns);
}

// Turns these choices together, and stays there when that is nearer.
bool AssignmentSearch::try_choices(Assignment& at, const std::vector<std::size_t>& choices) {
  Replay::Decisions decisions = at.decisions;
  bool matters = false;
  for (const std::size_t c : choices) {
    decisions.wide[c] = !decisions.wide[c];
    matters = matters || replay_.matters(*at.state, c);
  }
  if (!matters) return false;
  Assignment other = with(at, std::move(decisions));
  if (other.objective >= at.objective - kGain) return false;
  at = std::move(other);
  return true;
}

Assignment AssignmentSearch::descend(Assignment from) {
  Assignment at = std::move(from);
  const std::vector<Replay::Choice>& choices = replay_.choices();
  std::map<int, std::vector<std::size_t>> of_value;  // all uses of one value
  for (std::size_t c = 0; c < choices.size(); ++c) {
    if (choices[c].maker >= 0) of_value[choices[c].maker].push_back(c);
  }
  for (bool moved = true; moved && !exhausted();) {
    moved = false;
    for (std::size_t c = 0; c < choices.size() && !exhausted(); ++c) {
      moved = try_choices(at, {c}) || moved;
    }
    if (moved) continue;
    for (const auto& [maker, uses] : of_value) {
      if (uses.size() < 2 || exhausted()) continue;
      moved = try_choices(at, uses) || moved;
    }
  }
  return at;
}

void AssignmentSearch::run() {
  fit_.leave_out_tainted(true);
  std::vector<Assignment> starts;
  rescore(nominal_);
  starts.push_back(nominal_);
  starts.push_back(start(replay_.fused()));
  starts.push_back(start(std::vector<bool>(replay_.choices().size(), true)));
  std::ranges::stable_sort(starts, {}, &Assignment::objective);
  if (reproduces(nominal_, noise(nominal_))) {
    best_ = nominal_;
    found_ = true;
  }
  for (std::size_t s = 0; s < starts.size() && !found_ && !exhausted(); ++s) {
    Assignment end = descend(starts[s]);
    if (s == 0 || end.objective < best_.objective) {
      best_ = std::move(end);
      found_ = reproduces(best_, noise(best_));
    }
  }
  fit_.leave_out_tainted(false);
  rescore(nominal_);
  rescore(best_);
  std::vector<double> allowed = noise(best_);
  found_ = reproduces(best_, allowed);
  if (!found_) {
    best_ = take_branches(best_);
    allowed = noise(best_);
    found_ = reproduces(best_, allowed);
  }
  if (!found_ && !best_.decisions.branches.empty()) {
    best_ = descend(best_);
    allowed = noise(best_);
    found_ = reproduces(best_, allowed);
  }
  if (!found_) return;
  best_ = without_idle_branches(std::move(best_), allowed);
  best_ = fewest_wide(std::move(best_), allowed);
}

// Near-ties, each turned alone; then those that bring the system nearer, most first, together.
Assignment AssignmentSearch::take_branches(Assignment from) {
  struct Gain {
    Replay::Branch branch;
    double objective;
  };
  std::vector<Gain> gains;
  for (const Replay::Tie& tie : fit_.ties()) {
    const double now = replay_.value(*from.state, tie.slot, tie.element);
    std::vector<double> values = tie.others;
    if (!values.empty()) values.push_back(tie.exact);
    for (const double value : values) {
      if (value == now || exhausted()) continue;
      Replay::Decisions decisions = from.decisions;
      decisions.branches.push_back({tie.slot, tie.element, value});
      const Assignment one = with(from, decisions);
      if (one.objective < from.objective - kBranchGain) {
        gains.push_back({decisions.branches.back(), one.objective});
      }
    }
  }
  std::ranges::stable_sort(gains, {}, &Gain::objective);
  Assignment at = std::move(from);
  for (const Gain& gain : gains) {
    const auto same = [&](const Replay::Branch& b) {
      return b.slot == gain.branch.slot && b.element == gain.branch.element;
    };
    if (exhausted() || std::ranges::any_of(at.decisions.branches, same)) continue;
    Replay::Decisions decisions = at.decisions;
    decisions.branches.push_back(gain.branch);
    Assignment more = with(at, std::move(decisions));
    if (more.objective < at.objective - kBranchGain) at = std::move(more);
  }
  return at;
}

Assignment AssignmentSearch::without_idle_branches(Assignment from,
                                                   const std::vector<double>& noise) {
  for (std::size_t i = from.decisions.branches.size(); i-- > 0;) {
    Replay::Decisions decisions = from.decisions;
    decisions.branches.erase(decisions.branches.begin() + static_cast<std::ptrdiff_t>(i));
    Assignment fewer = with(from, std::move(decisions));
    if (reproduces(fewer, noise)) from = std::move(fewer);
  }
  return from;
}

// Rounds again whatever need not be wide.
Assignment AssignmentSearch::fewest_wide(Assignment from, const std::vector<double>& noise) {
  for (std::size_t c = 0; c < from.decisions.wide.size() && !exhausted(); ++c) {
    if (!from.decisions.wide[c]) continue;
    Assignment fewer = with(from, c, false);
    const bool as_near = fewer.objective <= from.objective + kGain;
    if (as_near || reproduces(fewer, noise)) from = std::move(fewer);
  }
  return from;
}

}  // namespace ulpfuzz
