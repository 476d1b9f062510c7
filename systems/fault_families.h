#pragma once

#include <span>

#include "systems/fault.h"

namespace ulpfuzz {

class Planter;  // systems/fault_planter.h

// One fault: adding one is adding one to the table of its family.
struct Fault {
  FaultKind kind;
  // Plants it, given its value (0 for one that takes none), and says whether it found a place; null
  // for a fault of the worker.
  bool (*plant)(Planter&, double) = nullptr;
};

// Every family: NAME here is `std::span<const Fault> NAME_faults()`, in systems/fault_NAME.cc.
#define ULPFUZZ_FAULT_FAMILIES(FAMILY) \
  FAMILY(attention)                    \
  FAMILY(norm)                         \
  FAMILY(arithmetic)                   \
  FAMILY(reduce)                       \
  FAMILY(rounding)                     \
  FAMILY(gradient)                     \
  FAMILY(buffer)                       \
  FAMILY(worker)

#define ULPFUZZ_DECLARE(name) std::span<const Fault> name##_faults();
ULPFUZZ_FAULT_FAMILIES(ULPFUZZ_DECLARE)
#undef ULPFUZZ_DECLARE

}  // namespace ulpfuzz
