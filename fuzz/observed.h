#pragma once

#include <cstdint>
#include <span>

#include "fuzz/investigate.h"

namespace ulpfuzz {

// What a judged case told, as counters that a fuzzer of cases keeps inputs by: how each system's
// run ended and what its compiler counted (graphs and their breaks, guards, lowerings by operator,
// fusions, kernels by kind, fallbacks; numbers in octaves), and how far each result lay from exact,
// in units of its legal spread and of its bound. Everything that is told lights one of `counters`,
// by a hash. Lowerings are counted where ULPFUZZ_OBSERVE=1 was in the environment of the workers.
void observe(const Judged& judged, std::span<std::uint8_t> counters);

}  // namespace ulpfuzz
