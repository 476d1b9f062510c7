#pragma once

#include <string>
#include <vector>

#include "generators/draw.h"
#include "generators/generate.h"
#include "ir/environment.h"

namespace ulpfuzz {

// What a process is set up with: one thread and the machine's own vector instructions mostly.
// Variety has a price: programs are compiled together only within one environment.
Environment draw_process(Random& random, const Profile& profile);

// The environment of a case in such a process.
Environment draw_environment(Random& random, const Profile& profile, const Environment& process,
                             bool backward, bool has_attention);

// All lists of attention kernels, in every order and of every length, of which at least one kernel
// runs on the device ("cpu", "cuda"). Kernels that a device lacks are in its lists too, before and
// after those that it has: it is to pass them over.
std::vector<std::vector<SdpaKernel>> sdpa_lists(const std::string& device);

// One of these, each length as likely as any; with and without set_priority.
SdpaChoice draw_sdpa_choice(Random& random, const std::string& device);

}  // namespace ulpfuzz
