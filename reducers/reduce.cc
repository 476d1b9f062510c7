#include <algorithm>
#include <set>

#include "ir/error.h"
#include "reducers/reducer.h"

namespace ulpfuzz {
namespace {

// The state of one reduction.
class Descent {
 public:
  Descent(const Case& failing, const OpTable& table, const StillFails& still_fails,
          const ReductionOptions& options)
      : table_(table), still_fails_(still_fails), options_(options) {
    result_.smallest = failing;
    tried_.insert(hashes(failing).whole);
  }

  ReducedCase run() {
    bool progress = true;
    while (progress && !stopped_) {
      progress = false;
      for (const Pass& pass : passes()) {
        while (!stopped_ && descend(pass)) progress = true;
      }
    }
    result_.complete = !stopped_;
    return std::move(result_);
  }

 private:
  // One step of a pass: true when a smaller case was found.
  bool descend(const Pass& pass) {
    std::vector<Case> batch;
    const CaseSize size = size_of(result_.smallest);
    int wanted = options_.batch;
    for (Case& candidate : pass.candidates(result_.smallest, table_)) {
      if (!is_lowered(candidate) && !capture(pass, candidate)) {
        if (stopped_) return false;
        continue;
      }
      if (size_of(candidate) >= size) continue;
      if (!tried_.insert(hashes(candidate).whole).second) continue;
      batch.push_back(std::move(candidate));
      if (static_cast<int>(batch.size()) < wanted) continue;
      if (accept_one(pass, batch)) return true;
      if (stopped_) return false;
      batch.clear();
      wanted = std::min(2 * wanted, options_.most);
    }
    return !batch.empty() && accept_one(pass, batch);
  }

  // Gives a candidate that has only a module its program.
  bool capture(const Pass& pass, Case& candidate) {
    if (!options_.capture || !tried_.insert(hashes(candidate).whole).second || !go_on(pass)) {
      return false;
    }
    std::optional<Case> captured = options_.capture(candidate);
    if (captured) candidate = std::move(*captured);
    return captured.has_value();
  }

  bool go_on(const Pass& pass) {
    if (options_.go_on &&
        !options_.go_on({pass.name, result_.steps, result_.tried, size_of(result_.smallest)})) {
      stopped_ = true;
    }
    return !stopped_;
  }

  bool accept_one(const Pass& pass, const std::vector<Case>& batch) {
    if (!go_on(pass)) return false;
    const std::vector<bool> fails = still_fails_(batch);
    result_.tried += static_cast<int>(batch.size());
    for (std::size_t i = 0; i < batch.size() && i < fails.size(); ++i) {
      if (!fails[i]) continue;
      result_.smallest = batch[i];
      ++result_.steps;
      return true;
    }
    return false;
  }

  const OpTable& table_;
  const StillFails& still_fails_;
  const ReductionOptions& options_;
  ReducedCase result_;
  std::set<std::string> tried_;
  bool stopped_ = false;
};

}  // namespace

ReducedCase reduce(const Case& failing, const OpTable& table, const StillFails& still_fails,
                   const ReductionOptions& options) {
  return Descent(failing, table, still_fails, options).run();
}

}  // namespace ulpfuzz
