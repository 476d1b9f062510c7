#pragma once

#include <cstdint>

#include "generators/generate.h"
#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// Neighbours of cases, for fuzzers that keep what told them something new. All are verified, within
// the profile's limits, and the same for the same seed everywhere. Of op graphs alone: cases of
// models and modules come back as they are.

// The case with one thing changed: an operator more, or another one in its place; fewer outputs, or
// one more; a dtype, a size, a layout, elements, a number; with gradients or without; other
// circumstances. As it was where nothing could be.
Case mutate_case(const Case& c, std::uint64_t seed, const OpTable& table, const Profile& profile);

// The first case, then the second one, some of whose inputs are values of the first.
Case cross_cases(const Case& first, const Case& second, std::uint64_t seed, const OpTable& table,
                 const Profile& profile);

}  // namespace ulpfuzz
