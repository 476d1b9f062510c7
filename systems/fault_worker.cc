#include <array>

#include "systems/fault_families.h"

// Faults of the process and of its results: each worker that has one plants it itself
// (python/faults.py, libtorch/faults.cc).
namespace ulpfuzz {
namespace {

constexpr Fault event(std::string_view name, std::string_view meaning) {
  return {{.name = name, .meaning = meaning, .effect = FaultEffect::kEvent}};
}

// Planted by the Python host into torch.compile (python/stage_faults.py).
constexpr Fault of_stage(std::string_view name, std::string_view meaning) {
  return {{.name = name, .meaning = meaning}};
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
    of_stage("stage-dynamo", "tanh is 1.5 times too large from TorchDynamo's graph on"),
    of_stage("stage-aot", "tanh is 1.5 times too large from AOTAutograd's graph on"),
    of_stage("stage-decompositions", "tanh is decomposed into 1.5 times itself"),
    of_stage("stage-pre-grad", "a pass before AOTAutograd makes tanh 1.5 times too large"),
    of_stage("stage-joint", "a pass over the joint graph makes tanh 1.5 times too large"),
    of_stage("stage-post-grad", "a pass over the last graph makes tanh 1.5 times too large"),
    of_stage("stage-lowering", "Inductor lowers tanh to 1.5 times itself"),
    of_stage("stage-vectorization", "Inductor's vector code of tanh is 1.5 times too large"),
    of_stage("stage-fusion", "Inductor's tanh is 1.5 times too large in fused loops"),
    event("ignores-sdpa-choice", "the environment's choice of attention kernels is not made"),
    event("nondeterministic", "an ulp more on some elements, others each time (Python)"),
};

}  // namespace

std::span<const Fault> worker_faults() { return kFaults; }

}  // namespace ulpfuzz
