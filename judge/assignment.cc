#include "judge/assignment.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/model.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

}  // namespace

AssignmentSearch::AssignmentSearch(const Replay& replay, Fit& fit, int evaluations,
                                   std::vector<std::pair<int, std::vector<double>>> given)
    : replay_(replay), fit_(fit), most_(evaluations), given_(std::move(given)) {
  const std::size_t n = replay_.choices().size();
  open_.assign(n, true);
  const Replay::Decisions wide{std::vector<bool>(n, true), {}, given_};
  scale_ = fit_.noise(wide, *replay_.run(wide), model::kScaleRuns);
  spent_ += model::kScaleRuns + 1;
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
    if (a.residuals[t] > model::kReplayFactor * noise[t]) return false;
  }
  return true;
}

std::vector<double> AssignmentSearch::noise(const Assignment& a) {
  spent_ += model::kNoiseRuns;
  return fit_.noise(a.decisions, *a.state, model::kNoiseRuns);
}

// Sets these choices alike, and stays there when that is nearer.
bool AssignmentSearch::try_choices(Assignment& at, const std::vector<std::size_t>& choices,
                                   bool wide) {
  Replay::Decisions decisions = at.decisions;
  bool matters = false;
  for (const std::size_t c : choices) {
    matters = matters || (decisions.wide[c] != wide && replay_.matters(*at.state, c));
    decisions.wide[c] = wide;
  }
  if (!matters) return false;
  Assignment other = with(at, std::move(decisions));
  if (other.objective >= at.objective - model::kGain) return false;
  at = std::move(other);
  return true;
}

bool AssignmentSearch::sweep(Assignment& at, const std::vector<std::vector<std::size_t>>& groups) {
  bool moved = false;
  for (const std::vector<std::size_t>& group : groups) {
    for (const bool wide : {true, false}) {
      if (!exhausted()) moved = try_choices(at, group, wide) || moved;
    }
  }
  return moved;
}

// All uses of a value at once, then a use with those by copies of the step, then each alone.
Assignment AssignmentSearch::descend(Assignment from) {
  const std::vector<Replay::Choice>& choices = replay_.choices();
  std::map<std::string, std::vector<std::size_t>> by_value, by_use;
  std::vector<std::vector<std::size_t>> alone;
  const auto name_of = [&](int step) {
    return step < 0 ? std::string() : replay_.steps()[static_cast<std::size_t>(step)].name;
  };
  for (std::size_t c = 0; c < choices.size(); ++c) {
    if (!open_[c]) continue;
    const std::string value = name_of(choices[c].maker);
    if (!value.empty()) by_value[value].push_back(c);
    by_use[value + " " + name_of(choices[c].step)].push_back(c);
    alone.push_back({c});
  }
  // In the order of the program.
  const auto in_order = [](const std::map<std::string, std::vector<std::size_t>>& groups) {
    std::vector<std::vector<std::size_t>> list;
    for (const auto& [name, group] : groups) {
      if (group.size() > 1) list.push_back(group);
    }
    std::ranges::sort(list);
    return list;
  };
  Assignment at = std::move(from);
  for (bool moved = true; moved && !exhausted();) {
    moved = sweep(at, in_order(by_value));
    moved = sweep(at, in_order(by_use)) || moved;
    moved = sweep(at, alone) || moved;
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
  // Near enough may still be a neighbour of what the system did: other starts go on to the end
  // unless there is next to nothing left.
  const double next_to_nothing = model::kClean * static_cast<double>(fit_.tensors());
  for (std::size_t s = 0; s < starts.size() && !found_ && !exhausted(); ++s) {
    Assignment end = descend(starts[s]);
    if (s == 0 || end.objective < best_.objective) best_ = std::move(end);
    if (best_.objective < next_to_nothing) break;
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
  if (found_) best_ = without_idle_branches(std::move(best_), allowed);
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
      if (one.objective < from.objective - model::kBranchGain) {
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
    if (more.objective < at.objective - model::kBranchGain) at = std::move(more);
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

void AssignmentSearch::refit(const std::vector<bool>& wide, const std::vector<bool>& open,
                             bool tainted) {
  fit_.leave_out_tainted(!tainted);
  open_ = open;
  best_ = start(wide);
  found_ = reproduces(best_, noise(best_));
  if (found_) return;
  best_ = descend(best_);
  found_ = reproduces(best_, noise(best_));
}

std::vector<bool> AssignmentSearch::decided() {
  const std::vector<double> allowed = noise(best_);
  std::vector<bool> all;
  for (std::size_t c = 0; c < best_.decisions.wide.size(); ++c) {
    all.push_back(replay_.matters(*best_.state, c) &&
                  !reproduces(with(best_, c, !best_.decisions.wide[c]), allowed));
  }
  return all;
}

bool AssignmentSearch::reproduces(const std::vector<bool>& wide, const std::vector<double>& noise) {
  return reproduces(start(wide), noise);
}

void AssignmentSearch::round_what_may_be(
    const std::function<bool(const Replay::Decisions&)>& also) {
  const std::vector<double> allowed = noise(best_);
  for (std::size_t c = 0; c < best_.decisions.wide.size(); ++c) {
    if (!best_.decisions.wide[c]) continue;
    Assignment fewer = with(best_, c, false);
    if (reproduces(fewer, allowed) && also(fewer.decisions)) best_ = std::move(fewer);
  }
}

}  // namespace ulpfuzz
