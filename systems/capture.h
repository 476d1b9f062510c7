#pragma once

#include <string>

#include "ir/case.h"
#include "ir/json_reader.h"
#include "systems/limits.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// A case that has only `module` gets the program that its eager forward pass runs, recorded by the
// Python host (systems/python/capture.py); its environment and module stay. Any other case is
// returned as it is. Inputs are the tokens, every parameter (its path with dots as underscores),
// and the buffers and constants that the pass reads, as literals. The elements of tokens and
// parameters come from fills by their names under the module's seed. `fault`: "" or a fault of the
// capture (systems/fault.h). Throws Error at /module when the library refuses the configuration, or
// no program can say what it does. That the program is the module's is not known before it is
// judged (judge/capture.cc).
Case capture(const Case& c, Scheduler& scheduler, const std::string& fault = "");

// Whether a fault goes into captures, not into a system.
bool is_capture_fault(const std::string& fault);

// The parts of it, for the scheduler. `captured_case` takes nothing of the result on trust.
std::string capture_message(std::int64_t id, const Case& c, const std::string& fault,
                            const Limits& limits);
Case captured_case(const std::string& result, const Case& c, const OpTable& table);
// What the host says of an input whose elements it recorded ("content", "strides"), as literals.
// Throws Error at the reader's place when they do not fit the input.
InputData captured_literal(const JsonReader& about, const ProgramInput& input);

}  // namespace ulpfuzz
