#pragma once

#include <optional>
#include <string>

#include "bisect/search.h"
#include "ir/case.h"
#include "ir/verdict.h"
#include "judge/judge.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// What a system's verdict on a case says of a finding that is looked for.
struct Probed {
  Answer answer = Answer::kUntestable;
  std::string verdict;  // "wrong", or why there is none
  std::string torch;    // version that ran; "": none did
};

// Looks for one finding in several systems: the same verdict, of the same sort (exception,
// relation, kernel), whatever the system's name. Without `wanted` it is the first finding that is
// met.
class Probe {
 public:
  Probe(Case c, std::optional<Signature> wanted, JudgeOptions options, const OpTable& table)
      : case_(std::move(c)),
        wanted_(std::move(wanted)),
        options_(std::move(options)),
        table_(table) {}

  // Untestable: eager mode beside the system does not run the case, the system is not there, or it
  // ends in an event (exception, crash, hang) that is not the one looked for.
  Probed ask(const SystemSpec& system, Scheduler& scheduler);

  const std::optional<Signature>& wanted() const { return wanted_; }

 private:
  Case case_;
  std::optional<Signature> wanted_;
  JudgeOptions options_;
  const OpTable& table_;
};

}  // namespace ulpfuzz
