#pragma once

#include "judge/causes.h"
#include "oracle/oracle.h"
#include "oracle/replay.h"

namespace ulpfuzz {

// The part of Causes that replays show: all but the first diverging intermediate. `replay` and
// `exact` are of options.input_set, of which both runs have results.
Causes explain_by_replay(const Case& c, const CauseOptions& options, const OpTable& table,
                         const Replay& replay, const Exact& exact, const Run& system,
                         const Run& eager);

// Replays that a search on one input set may take.
int evaluations_of(const CauseOptions& options, const Replay& replay);

// The execution of an input set, or null.
const Execution* execution_of(const Run& run, std::uint64_t input_set);

}  // namespace ulpfuzz
