#pragma once

#include <vector>

#include "ir/case.h"
#include "judge/judge.h"
#include "report/report.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// What may change in a case while it goes on to fail in the same way, one thing at a time: each
// switch of a model's configuration, its dtype, the attention kernels, threads, dynamic shapes. An
// answer to "is it the reshape?" is a row here. Variations that do not verify, or that eager does
// not run, are left out.
std::vector<Variation> explain(const Case& c, const Signature& signature,
                               const JudgeOptions& options, const OpTable& table,
                               Scheduler& scheduler);

}  // namespace ulpfuzz
