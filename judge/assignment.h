#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "judge/fit.h"
#include "oracle/replay.h"

namespace ulpfuzz {

// Decisions under which a replay comes nearest to a system's results.
struct Assignment {
  Replay::Decisions decisions;
  Replay::StatePtr state;
  std::vector<double> residuals;  // per tensor of the Fit
  double objective = 0;           // sum over tensors of log(1 + (residual / scale)^2) / 2
};

// The search for them: coordinate descent over the choices of a Replay, from several starts, and
// then over near-ties. Deterministic.
class AssignmentSearch {
 public:
  // `given`: as Replay::Decisions::given, in all that is tried.
  AssignmentSearch(const Replay& replay, Fit& fit, int evaluations,
                   std::vector<std::pair<int, std::vector<double>>> given = {});

  // With eager's roundings: everything rounded.
  const Assignment& nominal() const { return nominal_; }
  // The nearest one found. Where elements are tainted by near-ties the choices are made by the
  // others first.
  const Assignment& best() const { return best_; }

  void run();

  // In place of run(): the decisions that others found, with only those changed that are `open`,
  // where they do not reproduce everything as they are.
  // Which way near-ties fall is a matter of each input set: elements downstream of them do not
  // count unless `tainted` says so.
  void refit(const std::vector<bool>& wide, const std::vector<bool>& open, bool tainted = false);
  // The choices without which best() does not reproduce everything. Only after found().
  std::vector<bool> decided();
  bool reproduces(const std::vector<bool>& wide, const std::vector<double>& noise);

  // Rounds again whatever need not be wide for best() to reproduce everything, as long as `also`
  // agrees with the decisions. Only after found().
  void round_what_may_be(const std::function<bool(const Replay::Decisions&)>& also);

  // Does it reproduce every tensor within judge_model::kReplayFactor of `noise`?
  static bool reproduces(const Assignment& a, const std::vector<double>& noise);
  // Accumulation error under the decisions, per tensor.
  std::vector<double> noise(const Assignment& a);

  // Evaluates other decisions, starting from an assignment.
  Assignment with(const Assignment& from, Replay::Decisions decisions);
  Assignment with(const Assignment& from, std::size_t choice, bool wide);
  int evaluations() const { return spent_; }
  bool exhausted() const { return spent_ >= most_; }
  bool found() const { return found_; }  // best() reproduces everything

 private:
  Assignment start(std::vector<bool> wide);
  double objective(const std::vector<double>& residuals) const;
  Assignment descend(Assignment from);
  bool sweep(Assignment& at, const std::vector<std::vector<std::size_t>>& groups);
  bool try_choices(Assignment& at, const std::vector<std::size_t>& choices, bool wide);
  Assignment take_branches(Assignment from);
  Assignment without_idle_branches(Assignment from, const std::vector<double>& noise);
  void rescore(Assignment& a);

  const Replay& replay_;
  Fit& fit_;
  int most_, spent_ = 0;
  bool found_ = false;
  std::vector<std::pair<int, std::vector<double>>> given_;
  std::vector<bool> open_;     // choices that may be changed
  std::vector<double> scale_;  // accumulation error with everything wide
  Assignment nominal_, best_;
};

}  // namespace ulpfuzz
