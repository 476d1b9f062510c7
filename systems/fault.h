#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// How much a fault is seen to do where it acts.
enum class FaultEffect : std::uint8_t {
  kSemantic,  // another function, or values off by 3 % and more: one input set should do
  kSmall,     // less, or rounding: needs statistics, or a wider rung
  kMetadata,  // dtypes, layouts
  kEvent,     // how a run ends, which kernel runs, bits that differ from execution to execution
};
std::string_view name(FaultEffect effect);

// A value that a fault is worth trying with.
struct FaultStrength {
  double value;
  FaultEffect effect;
};

// Faults that tests plant into a system (option `fault` of its spec, "name" or "name=value"), to
// see that they are found (docs/faults.md). Faults of the program are planted here, before the case
// is sent, so they are the same for every system; faults of the process and of the results by the
// worker itself.
struct FaultKind {
  std::string_view name;  // "attn-scale"
  bool in_program = false;
  std::string_view meaning;  // "multiplies every attention scale by the value"
  FaultEffect effect = FaultEffect::kSemantic;
  bool rounding_alone = false;  // the exact values of the program stay as they were
  // Of a fault that takes a value, the largest effect first; empty: it takes none.
  std::span<const FaultStrength> strengths = {};
  bool takes_value() const { return !strengths.empty(); }
};
std::span<const FaultKind> fault_kinds();

// The kind of "name" or "name=value". Throws Error for an unknown name, and for a value that is
// missing, not a number, or given where none belongs.
const FaultKind& fault_kind(std::string_view fault);

// The case with the fault in its program; unchanged for a fault of the worker. Throws Error for an
// unknown fault or value. `planted` says whether the program had a place for it; whether values
// change is for the exact value of both to say. Of a case with a module the program is what is
// left.
Case plant(const Case& lowered, std::string_view fault, const OpTable& table, bool& planted);

}  // namespace ulpfuzz
