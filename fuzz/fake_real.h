#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "ir/verdict.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// fake = real: each operator by itself over random layouts, forward and backward, on FakeTensorMode
// and on real tensors, and what a compiler that believes the fake kernel makes of a difference.
struct FakeRealOptions {
  std::string only;  // part of operators' names; "": all
  int cases = 20;    // of each operator
  std::uint64_t seed = 0;
  SystemSpec fake = {"fake@py", {}, ""};
  std::vector<SystemSpec> compilers;  // each is asked about every difference
  double reduction_cpu_seconds = 30;  // of one difference
  std::function<void(const std::string&)> progress;
  std::function<bool()> stopped;
};

// A way in which an operator's fake kernel and its real one differ.
struct FakeDifference {
  std::string op;           // whose turn it was; `smallest` may show that a helper is to blame
  std::string sort;         // "fake kernel's strides"
  std::string detail = {};  // of the smallest case: "output 0: fake kernel's strides: (1, 2) ..."
  int seen = 0;             // cases of this operator that show it
  Case smallest;
  bool reduced = false;
  // By compiler, on the smallest case and on it with neighbours that read and make what differs.
  struct Consequence {
    std::string system;
    VerdictKind alone = VerdictKind::kUndecided;
    VerdictKind among = VerdictKind::kUndecided;
  };
  std::vector<Consequence> consequences = {};
  // "stride-assert", "silently wrong", "other strides" or "harmless"; several, gravest first.
  std::string effect() const;
};

struct FakeRealSummary {
  int rows = 0;                     // operators that were drawn
  std::vector<std::string> others;  // without a draw rule: seen in gradients of others alone
  int cases = 0;
  int valid = 0;                            // eager ran
  int backward = 0;                         // of these, with gradients
  int needs_values = 0;                     // of these, FakeTensorMode cannot know
  std::vector<FakeDifference> differences;  // by operator
};

FakeRealSummary compare_fakes(const FakeRealOptions& options, const OpTable& table,
                              Scheduler& scheduler);

// The case with an addition behind every output and a product before every input that is
// differentiated by, so that generated code reads results and makes operands. Throws Error where
// the types do not allow it.
Case with_neighbours(const Case& lowered, const OpTable& table);

}  // namespace ulpfuzz
