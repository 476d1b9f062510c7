#pragma once

#include <vector>

#include "ir/case.h"
#include "judge/causes.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// Drives CauseSearch and Scheduler for systems on one case. `evidence`: runs that exist already,
// as of judge_cases. Eager itself is left out.
std::vector<Causes> find_causes(const Case& lowered, const std::vector<SystemSpec>& systems,
                                std::vector<Evidence> evidence, const OpTable& table,
                                Scheduler& scheduler, Company company = Company::kStock);

}  // namespace ulpfuzz
