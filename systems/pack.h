#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/run.h"

namespace ulpfuzz {

// Whether a request may share a process, and a compilation, with others. Not so: requests that want
// to know which kernels ran of a compiled program, that keep caches between runs, that carry a
// fault of the process, that draw random numbers, or whose system makes a package of each program.
bool may_be_packed(const RunRequest& request);

// Requests in groups of one system, environment and choice of profiling: indices, in order, each
// once. A pack has at most `largest` requests and about kPackNodes nodes; a group of fewer than
// `jobs` full packs is shared out evenly among `jobs` workers. With `alone` every pack is of one.
constexpr std::size_t kPackNodes = 400;
std::vector<std::vector<std::size_t>> plan_packs(std::span<const RunRequest* const> requests,
                                                 std::size_t largest, bool alone,
                                                 std::size_t jobs = 1);

}  // namespace ulpfuzz
