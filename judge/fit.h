#pragma once

#include <cstddef>
#include <vector>

#include "ir/run.h"
#include "oracle/oracle.h"
#include "oracle/replay.h"

namespace ulpfuzz {

// How far replays lie from one system's results, tensor by tensor.
class Fit {
 public:
  // `exact` says which elements count: none that ATen leaves undefined. Tensors that the system did
  // not return, or of another shape, are left out.
  Fit(const Replay& replay, const Exact& exact, const Execution& system);

  const std::vector<Replay::Tie>& ties() const { return ties_; }  // judge_model::kMostTies at most

  std::size_t tensors() const { return system_.size(); }
  bool compared(std::size_t t) const { return !system_[t].empty(); }

  // Per tensor the RMS over elements of |system - replay| less half an ulp of the system's value,
  // for the replay's values are not yet rounded to the dtype they are stored in. Of integral
  // tensors the root of the share of elements that differ.
  std::vector<double> residuals(const Replay::State& state) const;
  // The same, given those of another state.
  std::vector<double> residuals(const Replay::State& state, const Replay::State& near,
                                const std::vector<double>& of_near) const;

  // Per tensor the RMS distance of `runs` replays with noise 1 to the one without, in the same
  // units, and never 0. What a system may be off by that takes these decisions, near-ties among
  // them.
  std::vector<double> noise(const Replay::Decisions& decisions, const Replay::State& state,
                            int runs) const;
  std::vector<double> distance(const Replay::State& a, const Replay::State& b) const;

  // Elements downstream of near-ties do not count while this is set, where others do.
  void leave_out_tainted(bool leave) { leave_out_tainted_ = leave && any_untainted_; }
  bool any_tainted() const { return any_tainted_; }

 private:
  double residual(const Replay::State& state, std::size_t t) const;
  bool counts(std::size_t t, std::size_t i) const;

  const Replay& replay_;
  std::vector<std::vector<double>> system_;  // elements as numbers; empty: not compared
  std::vector<std::vector<std::uint8_t>> marks_;
  std::vector<Replay::Tie> ties_;
  std::vector<double> size_;  // RMS of the exact values
  bool leave_out_tainted_ = false;
  bool any_tainted_ = false, any_untainted_ = false;
};

}  // namespace ulpfuzz
