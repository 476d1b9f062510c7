#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "systems/frames.h"

namespace ulpfuzz::libtorch {

// What a run and the greeting say of this torch: "torch", "cpu_capability".
std::map<std::string, std::string> versions();

// Serves one run message in the process that was forked for it: limits, stages, items one after the
// other, then `result` or `memory`. `package`: the descriptor that came with an `aoti` message, or
// -1. Throws only when the supervisor is gone or the message is not one of the protocol.
void serve_run(Channel& channel, const nlohmann::json& message, int package);

}  // namespace ulpfuzz::libtorch
