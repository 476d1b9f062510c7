#pragma once

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

// A list of attention kernels of which at least one runs on any device, in random order.
SdpaChoice draw_sdpa_choice(Random& random);

}  // namespace ulpfuzz
