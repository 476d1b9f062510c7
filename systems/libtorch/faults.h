#pragma once

#include <string>

#include "systems/frames.h"
#include "systems/libtorch/execute.h"

namespace ulpfuzz::libtorch {

// Faults of the process and of its results, planted to see that they are found (PROTOCOL.md,
// "Faults"). An unknown name throws Error, so that a test cannot pass by a slip.
void fault_in_environment(const std::string& fault, Environment& environment);
void fault_before_forward(const std::string& fault);
void fault_in_results(const std::string& fault, Outcome& outcome);

// Whether the run is to send something that is not a frame; does so.
bool fault_instead_of_result(const std::string& fault, Channel& channel);

}  // namespace ulpfuzz::libtorch
