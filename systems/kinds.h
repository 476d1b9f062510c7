#pragma once

#include <filesystem>
#include <string>

#include "oracle/oracle.h"
#include "systems/process.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// The kind that a spec names. Throws NotAvailable, listing what there is, for another name.
const SystemKind& system_kind(const std::string& name);

// What of a case a system can be asked for: of one that does not differentiate, the forward part
// (nothing to differentiate by, no cotangents). A name that is not a system's asks for all.
Case asked_of(const SystemSpec& system, const Case& c);

// What a correct system of this kind may do with its intermediates: eager mode, and what calls its
// operators one by one, round every one; a compiler may keep some wider. A synthetic system is told
// by its option `freedom`. Throws NotAvailable for a name that is no system's.
FreedomSet freedom_of(const SystemSpec& system);

// How to start the worker that serves a system, or the one that runs what that has made (`runner`).
// `python`: as in SchedulerOptions; `isa`: as in
// Environment. Throws NotAvailable, saying what is missing and what would help.
WorkerCommand worker_command(const SystemSpec& system, const std::string& python,
                             const std::string& isa);

// The project's own interpreter with torch: `python` when it is given, else ULPFUZZ_PYTHON, else
// .venv's. Throws NotAvailable for `whom`.
std::string project_python(const std::string& python, const std::string& whom);
// The folder of this binary.
std::filesystem::path own_folder();
// The folder of the Python host. Throws NotAvailable for `whom`.
std::filesystem::path python_sources(const std::string& whom = "ulpfuzz");

WorkerCommand runner_command(const SystemSpec& system, const std::string& isa);

}  // namespace ulpfuzz
