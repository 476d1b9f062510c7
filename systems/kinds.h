#pragma once

#include <string>

#include "systems/process.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// The kind that a spec names. Throws NotAvailable, listing what there is, for another name.
const SystemKind& system_kind(const std::string& name);

// How to start the worker that serves a system. `python`: as in SchedulerOptions; `isa`: as in
// Environment. Throws NotAvailable, saying what is missing and what would help.
WorkerCommand worker_command(const SystemSpec& system, const std::string& python,
                             const std::string& isa);

}  // namespace ulpfuzz
