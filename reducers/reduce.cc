#include <algorithm>

#include "ir/error.h"
#include "reducers/reducer.h"

namespace ulpfuzz {
namespace {

// Enough of a hash to tell the cases of one reduction apart.
std::string key_of(const Case& c) { return hashes(c).whole.substr(0, 16); }

// The state of one reduction.
class Descent {
 public:
  Descent(const Case& failing, const OpTable& table, const StillFails& still_fails,
          const ReductionOptions& options)
      : table_(table), still_fails_(still_fails), options_(options) {
    if (options.from) state_ = *options.from;
    if (!options.from) state_.smallest = failing;
    state_.refused.insert(key_of(state_.smallest));
  }

  ReducedCase run() {
    bool progress = true;
    while (progress && !stopped_) {
      progress = false;
      for (const Pass& pass : passes()) {
        first_ = 0;
        while (!stopped_ && descend(pass)) progress = true;
      }
    }
    return {std::move(state_.smallest), std::move(accepted_), state_.steps, state_.tried,
            !stopped_};
  }

 private:
  // Candidates to be run together, and where in the pass's list they stand.
  struct Batch {
    std::vector<Case> cases;
    std::vector<std::size_t> places;
  };

  // One step of a pass: true when a smaller case was found.
  bool descend(const Pass& pass) {
    std::vector<Case> candidates = pass.candidates(state_.smallest, table_);
    const std::size_t n = candidates.size();
    if (!pass.independent || first_ >= n) first_ = 0;
    const std::size_t start = first_;
    const CaseSize size = size_of(state_.smallest);
    Batch batch;
    int wanted = options_.batch;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t place = (start + i) % n;
      Case& candidate = candidates[place];
      if (!is_lowered(candidate) && !capture(pass, candidate)) {
        if (stopped_) return false;
        continue;
      }
      if (size_of(candidate) >= size) continue;
      if (!state_.refused.insert(key_of(candidate)).second) continue;
      batch.cases.push_back(std::move(candidate));
      batch.places.push_back(place);
      if (static_cast<int>(batch.cases.size()) < wanted) continue;
      if (accept_one(pass, batch)) return true;
      if (stopped_) return false;
      batch = {};
      wanted = std::min(2 * wanted, options_.most);
    }
    return !batch.cases.empty() && accept_one(pass, batch);
  }

  // Gives a candidate that has only a module its program.
  bool capture(const Pass& pass, Case& candidate) {
    if (!options_.capture || !state_.refused.insert(key_of(candidate)).second || !go_on(pass)) {
      return false;
    }
    std::optional<Case> captured = options_.capture(candidate);
    if (captured) candidate = std::move(*captured);
    return captured.has_value();
  }

  bool go_on(const Pass& pass) {
    const Program& program = state_.smallest.program;
    const ReductionProgress progress{pass.name, state_.steps, state_.tried,
                                     static_cast<std::int64_t>(program.nodes.size()),
                                     elements_of(program)};
    if (options_.go_on && !options_.go_on(progress)) stopped_ = true;
    return !stopped_;
  }

  // Goes on from the smallest of the batch that fails. A batch that was cut short says nothing.
  bool accept_one(const Pass& pass, const Batch& batch) {
    const std::vector<bool> fails = go_on(pass) ? still_fails_(batch.cases) : std::vector<bool>();
    if (!go_on(pass)) {
      for (const Case& c : batch.cases) state_.refused.erase(key_of(c));
    }
    state_.tried += static_cast<int>(fails.size());
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < fails.size(); ++i) {
      if (fails[i] && (!best || size_of(batch.cases[i]) < size_of(batch.cases[*best]))) best = i;
    }
    if (best) {
      state_.smallest = batch.cases[*best];
      accepted_.push_back(state_.smallest);
      first_ = batch.places[*best];
      ++state_.steps;
    }
    if (options_.save) options_.save(state_);
    return best.has_value();
  }

  const OpTable& table_;
  const StillFails& still_fails_;
  const ReductionOptions& options_;
  ReductionState state_;
  std::vector<Case> accepted_;
  std::size_t first_ = 0;  // of the pass's candidates, see Pass::independent
  bool stopped_ = false;
};

}  // namespace

ReducedCase reduce(const Case& failing, const OpTable& table, const StillFails& still_fails,
                   const ReductionOptions& options) {
  return Descent(failing, table, still_fails, options).run();
}

std::vector<PassCount> count_steps(const Case& c, const OpTable& table,
                                   const StillFails& still_fails, const ReductionOptions& options) {
  std::vector<PassCount> counts;
  std::set<std::string> seen{key_of(c)};
  const CaseSize size = size_of(c);
  for (const Pass& pass : passes()) {
    std::vector<Case> smaller;
    for (Case& candidate : pass.candidates(c, table)) {
      if (!is_lowered(candidate)) {
        const auto captured = options.capture ? options.capture(candidate) : std::nullopt;
        if (!captured) continue;
        candidate = *captured;
      }
      if (size_of(candidate) >= size || !seen.insert(key_of(candidate)).second) continue;
      smaller.push_back(std::move(candidate));
    }
    PassCount count{std::string(pass.name), static_cast<int>(smaller.size()), 0};
    if (!smaller.empty()) {
      for (const bool fails : still_fails(smaller)) count.still_fail += fails ? 1 : 0;
    }
    counts.push_back(std::move(count));
  }
  return counts;
}

}  // namespace ulpfuzz
