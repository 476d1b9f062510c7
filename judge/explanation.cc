#include "judge/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "judge/assignment.h"
#include "judge/model.h"

namespace ulpfuzz {

int evaluations_of(const CauseOptions& options, const Replay& replay) {
  const std::int64_t by_work = options.work / std::max<std::int64_t>(1, replay.work());
  return static_cast<int>(std::clamp<std::int64_t>(by_work, 64, options.evaluations));
}

const Execution* execution_of(const Run& run, std::uint64_t input_set) {
  for (const Execution& e : run.executions) {
    if (e.input_set == input_set) return &e;
  }
  return nullptr;
}

namespace {

double rms_difference(const TensorResult& a, const TensorResult& b) {
  if (a.layout.shape != b.layout.shape || is_integral(a.layout.dtype) ||
      is_integral(b.layout.dtype)) {
    return 0;
  }
  const std::vector<double> x = a.reals(), y = b.reals();
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - y[i];
    if (std::isfinite(d)) squares += d * d;
  }
  return x.empty() ? 0 : std::sqrt(squares / static_cast<double>(x.size()));
}

// Do input sets differ at all?
bool varies(const Case& c) {
  const auto drawn = [](const Fill& fill) {
    return fill.kind != Fill::Kind::kLiteral && fill.kind != Fill::Kind::kArange;
  };
  return std::ranges::any_of(c.inputs, [&](const InputData& data) { return drawn(data.fill); });
}

// The replays of one pair of runs: everything but the first diverging intermediate.
class Explanation {
 public:
  Explanation(const Case& c, const CauseOptions& options, const OpTable& table,
              const Replay& replay, const Exact& exact, const Execution& system,
              const Execution& eager)
      : case_(c),
        options_(options),
        table_(table),
        replay_(replay),
        exact_(exact),
        eager_(eager),
        system_(system),
        fit_(replay, exact, system),
        search_(replay, fit_, evaluations_of(options, replay)) {}

  Causes explain(const Run& run) {
    search_.run();
    if (search_.found()) hold_out(run);
    const Assignment& best = search_.best();
    const std::vector<double> noise = search_.noise(best);
    causes_.choices = static_cast<int>(replay_.choices().size());
    measure(best, noise);
    if (search_.found()) {
      branches(best);
      kept_wide(best, noise);
    } else if (search_.exhausted()) {
      causes_.notes.push_back(
          fmt::format("the search ended at its limit of {} replays", search_.evaluations()));
    }
    causes_.kind = kind(best);
    if (causes_.kind != CauseKind::kUnexplained) {
      dominant(best);
    } else {  // nothing is named that does not explain the results
      causes_.wide.clear();
      causes_.branches.clear();
    }
    causes_.evaluations = search_.evaluations() + others_spent_;
    return std::move(causes_);
  }

 private:
  CauseKind kind(const Assignment& best) const {
    if (!search_.found()) return CauseKind::kUnexplained;
    if (std::ranges::any_of(causes_.branches, &TakenBranch::forced)) {
      return CauseKind::kDiscontinuity;
    }
    const bool wide = std::ranges::find(best.decisions.wide, true) != best.decisions.wide.end();
    if (!wide) return CauseKind::kReordered;
    if (causes_.held_out == std::optional(false)) return CauseKind::kUnexplained;
    return CauseKind::kExcessPrecision;
  }

  void measure(const Assignment& best, const std::vector<double>& noise) {
    for (std::size_t t = 0; t < fit_.tensors(); ++t) {
      if (!fit_.compared(t)) continue;
      TensorCause tensor;
      tensor.tensor = exact_.tensors[t].name;
      const TensorResult* mine = system_.find(tensor.tensor);
      const TensorResult* other = eager_.find(tensor.tensor);
      if (mine != nullptr && other != nullptr) tensor.difference = rms_difference(*mine, *other);
      tensor.nominal = search_.nominal().residuals[t];
      tensor.residual = best.residuals[t];
      tensor.noise = noise[t];
      tensor.reproduced = tensor.residual <= judge_model::kReplayFactor * noise[t];
      causes_.tensors.push_back(tensor);
      index_.push_back(t);
    }
  }

  void branches(const Assignment& best) {
    for (const Replay::Tie& tie : fit_.ties()) {
      if (tie.others.empty()) continue;
      const double taken = replay_.value(*best.state, tie.slot, tie.element);
      const bool forced = std::ranges::any_of(
          best.decisions.branches,
          [&](const Replay::Branch& b) { return b.slot == tie.slot && b.element == tie.element; });
      if (taken == tie.exact && !forced) continue;
      const Replay::Step& step = replay_.steps()[static_cast<std::size_t>(tie.step)];
      causes_.branches.push_back({step.name, step.op, tie.element, tie.exact, taken, forced});
    }
  }

  // The tensor that eager's roundings leave farthest off.
  std::size_t main_tensor(const std::vector<double>& noise) const {
    std::size_t main = 0;
    double most = -1;
    for (const std::size_t t : index_) {
      const double x = search_.nominal().residuals[t] / noise[t];
      if (x > most) most = x, main = t;
    }
    return main;
  }

  void kept_wide(const Assignment& best, const std::vector<double>& noise) {
    const std::size_t main = main_tensor(noise);
    const double all = search_.nominal().residuals[main];
    for (std::size_t c = 0; c < best.decisions.wide.size(); ++c) {
      if (!best.decisions.wide[c]) continue;
      const Replay::Choice& choice = replay_.choices()[c];
      const Replay::Step& into = replay_.steps()[static_cast<std::size_t>(choice.step)];
      KeptWide kept;
      if (choice.maker >= 0) {
        const Replay::Step& value = replay_.steps()[static_cast<std::size_t>(choice.maker)];
        kept.value = value.name, kept.value_op = value.op;
      }
      kept.into = into.name, kept.into_op = into.op, kept.backward = into.backward;
      kept.again = into.again, kept.extern_result = choice.extern_result;
      const double alone = search_.with(search_.nominal(), c, true).residuals[main];
      kept.share = all > 0 ? 1 - alone * alone / (all * all) : 0;
      const Assignment without = search_.with(best, c, false);
      for (const std::size_t t : index_) {
        kept.without = std::max(kept.without, without.residuals[t] / noise[t]);
      }
      causes_.wide.push_back(std::move(kept));
    }
    std::ranges::stable_sort(causes_.wide, std::greater(), &KeptWide::share);
  }

  // Another input set of the system.
  struct Other {
    Other(const Case& c, const CauseOptions& options, const OpTable& table,
          const Execution& execution)
        : replay(c, table, execution.input_set),
          exact(Oracle(table).exact(c, execution.input_set)),
          fit(replay, exact, execution),
          search(replay, fit, evaluations_of(options, replay)) {}
    Replay replay;
    Exact exact;
    Fit fit;
    AssignmentSearch search;
    std::vector<double> noise;
  };

  // Choices that the first input set leaves open are decided by the further ones; then all of them
  // must hold on one that no search saw. At last those that no set needs wide are rounded.
  void hold_out(const Run& run) {
    std::vector<std::unique_ptr<Other>> others;
    const auto holds = [&](const std::vector<bool>& wide) {
      return std::ranges::all_of(others, [&](const std::unique_ptr<Other>& other) {
        return other->search.reproduces(wide, other->noise);
      });
    };
    const auto on_others = [&](const Replay::Decisions& d) { return holds(d.wide); };
    if (varies(case_) && search_.best().decisions.branches.empty()) {
      causes_.held_out = further_sets(run, others) && holds(search_.best().decisions.wide);
      if (!*causes_.held_out) others.clear();
    }
    search_.round_what_may_be(on_others);
    for (const auto& other : others) others_spent_ += other->search.evaluations();
  }

  bool further_sets(const Run& run, std::vector<std::unique_ptr<Other>>& others) {
    std::vector<bool> wide = search_.best().decisions.wide;
    std::vector<bool> decided = search_.decided();
    const auto see = [&](std::uint64_t set) -> Other* {
      const Execution* execution = execution_of(run, set);
      if (execution == nullptr) return nullptr;
      others.push_back(std::make_unique<Other>(case_, options_, table_, *execution));
      return others.back().get();
    };
    for (const std::uint64_t set : options_.further) {
      Other* other = see(set);
      if (other == nullptr) continue;
      std::vector<bool> open = decided;
      open.flip();
      other->search.refit(wide, open);
      if (!other->search.found()) return false;
      wide = other->search.best().decisions.wide;
      other->noise = other->search.noise(other->search.best());
      const std::vector<bool> here = other->search.decided();
      for (std::size_t c = 0; c < decided.size(); ++c) decided[c] = decided[c] || here[c];
    }
    // What the further sets decided must not undo what the first one showed.
    search_.refit(wide, std::vector<bool>(wide.size(), false), true);
    if (!search_.found()) return false;
    Other* last = see(options_.held_out);
    if (last == nullptr) return false;
    last->search.refit(wide, std::vector<bool>(wide.size(), false));
    last->noise = last->search.noise(last->search.best());
    return last->search.found();
  }

  // Noise at one step at a time.
  void dominant(const Assignment& best) {
    const std::size_t n = replay_.steps().size();
    std::vector<std::vector<double>> of_step;
    std::vector<double> total(fit_.tensors(), 0.0);
    for (std::size_t s = 0; s < n; ++s) {
      Replay::Decisions noisy = best.decisions;
      noisy.noise = 1;
      noisy.noisy_step = static_cast<int>(s);
      of_step.push_back(fit_.distance(*search_.with(best, std::move(noisy)).state, *best.state));
      for (std::size_t t = 0; t < total.size(); ++t) {
        total[t] += of_step.back()[t] * of_step.back()[t];
      }
    }
    for (std::size_t k = 0; k < index_.size(); ++k) {
      const std::size_t t = index_[k];
      for (std::size_t s = 0; s < n && total[t] > 0; ++s) {
        const double share = of_step[s][t] * of_step[s][t] / total[t];
        if (share <= causes_.tensors[k].share) continue;
        causes_.tensors[k].share = share;
        causes_.tensors[k].dominant = replay_.steps()[s].name;
      }
    }
  }

  const Case& case_;
  const CauseOptions& options_;
  const OpTable& table_;
  const Replay& replay_;
  const Exact& exact_;
  const Execution& eager_;
  const Execution& system_;
  Fit fit_;
  AssignmentSearch search_;
  Causes causes_;
  int others_spent_ = 0;
  std::vector<std::size_t> index_;  // of the Fit's tensors, by those of the causes
};

}  // namespace

Causes explain_by_replay(const Case& c, const CauseOptions& options, const OpTable& table,
                         const Replay& replay, const Exact& exact, const Run& system,
                         const Run& eager) {
  const Execution& mine = *execution_of(system, options.input_set);
  const Execution& other = *execution_of(eager, options.input_set);
  return Explanation(c, options, table, replay, exact, mine, other).explain(system);
}

}  // namespace ulpfuzz
