#include <array>

#include "systems/fault_families.h"

// Faults of the process and of its results: each worker that has one plants it itself
// (python/faults.py, libtorch/faults.cc).
namespace ulpfuzz {
namespace {

constexpr Fault event(std::string_view name, std::string_view meaning) {
  return {{.name = name, .meaning = meaning, .effect = FaultEffect::kEvent}};
}

constexpr std::array kRelative{FaultStrength{1, FaultEffect::kSemantic},
                               FaultStrength{0.03, FaultEffect::kSemantic},
                               FaultStrength{0.003, FaultEffect::kSmall}};

constexpr std::array kFaults{
    event("crash", "the process aborts"),
    event("hang", "the process computes for ever"),
    event("memory", "the process allocates without end"),
    event("raise", "the program raises"),
    event("garbage", "noise on standard output; the result is right"),
    event("bad-frame", "noise where the result belongs"),
    event("capture-scales-attention", "a captured program scales its attention by 1.5"),
    Fault{{.name = "one-nan", .meaning = "a NaN in the first floating output"}},
    Fault{{.name = "one-element",
           .meaning = "one element of the first floating output is off by the value, relatively",
           .strengths = kRelative}},
    Fault{{.name = "flush-denormals",
           .meaning = "subnormal numbers are taken and given as zero",
           .effect = FaultEffect::kSmall}},
    Fault{{.name = "wrong-out-stride",
           .meaning = "the first output of two dimensions lies transposed",
           .effect = FaultEffect::kMetadata}},
    Fault{{.name = "sdpa-fake-stride",
           .meaning = "compilers expect contiguous gradients of attention (Python)",
           .effect = FaultEffect::kMetadata}},
    event("ignores-sdpa-choice", "the environment's choice of attention kernels is not made"),
    event("nondeterministic", "an ulp more on some elements, others each time (Python)"),
};

}  // namespace

std::span<const Fault> worker_faults() { return kFaults; }

}  // namespace ulpfuzz
