#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "reducers/state.h"

namespace ulpfuzz {

// Size of a case for the order in which smaller is better, by: is it a model; nodes; outputs and
// gradients; inputs; elements; ranks; the model's configuration; layouts that are not contiguous,
// and the storage that they take; operators and dtypes that are not plain (plain.h); arguments
// given; switches of the environment that are not at their default; plainness of fills and numbers;
// and at last the length of the canonical JSON.
struct CaseSize {
  std::vector<std::int64_t> key;
  auto operator<=>(const CaseSize&) const = default;
};
CaseSize size_of(const Case& c);
std::int64_t elements_of(const Program& program);  // of all inputs

// One way to make a case smaller. A pass only proposes; whether a candidate still shows the finding
// is asked by the loop.
struct Pass {
  std::string_view name;  // "nodes", "config", "shapes"
  std::string_view meaning;
  // Candidates strictly smaller than `c`, most promising first. They verify, or have only a
  // module, whose program is still to be captured.
  std::vector<Case> (*candidates)(const Case& c, const OpTable& table);
  // Candidates are edits that do not depend on each other: after one was accepted, those behind it
  // come first, and those before it, which were just refused, last.
  bool independent = false;
};
std::span<const Pass> passes();  // in the order in which they are tried

// Does each of these still show the finding? Called with a few candidates at a time so that they
// can be run together; the answers are in order.
using StillFails = std::function<std::vector<bool>(std::span<const Case>)>;

struct ReductionProgress {
  std::string_view pass;
  int steps = 0;                         // candidates accepted
  int tried = 0;                         // candidates run
  std::int64_t nodes = 0, elements = 0;  // of the smallest so far; elements of its inputs
};

struct ReductionOptions {
  // Candidates asked for together: at first, and in the end of a pass that finds none that fails.
  int batch = 8;
  int most = 32;
  std::function<bool(const ReductionProgress&)> go_on;  // false ends the reduction; may be empty
  // A candidate that has only a module, with its program; nullopt: there is none. Empty: such
  // candidates are left out.
  std::function<std::optional<Case>(const Case&)> capture = {};
  std::optional<ReductionState> from = {};               // to go on from
  std::function<void(const ReductionState&)> save = {};  // called after each batch
};

struct ReducedCase {
  Case smallest;
  std::vector<Case> accepted;  // by this call, each smaller than the one before; ends in `smallest`
  int steps = 0;
  int tried = 0;
  bool complete = false;  // a fixpoint: no pass has a candidate that still fails
};

// How many candidates of a pass are smaller than a case, and how many of them still fail.
struct PassCount {
  std::string pass;
  int candidates = 0;
  int still_fail = 0;
};

// Runs every smaller candidate that any pass has for `c`: where none fails, no single step makes it
// smaller. One entry a pass, in their order; a candidate of two passes counts for the first.
std::vector<PassCount> count_steps(const Case& c, const OpTable& table,
                                   const StillFails& still_fails,
                                   const ReductionOptions& options = {});

// Greedy descent through the passes to a fixpoint. Candidates already tried are not run again. That
// the case itself fails is the caller's knowledge.
ReducedCase reduce(const Case& failing, const OpTable& table, const StillFails& still_fails,
                   const ReductionOptions& options = {});

}  // namespace ulpfuzz
