#pragma once

#include "ir/environment.h"

namespace ulpfuzz::libtorch {

// Puts in force all of an environment that is the process's: threads, denormals, determinism,
// reduced precision, the choice of attention kernels. Not the ISA, which torch reads when it is
// loaded. For a child that serves one environment.
void apply(const Environment& environment);

// Grad mode and autocast, for the time of a forward pass.
class ForwardScope {
 public:
  explicit ForwardScope(const Environment& environment);
  ~ForwardScope();
  ForwardScope(const ForwardScope&) = delete;
  ForwardScope& operator=(const ForwardScope&) = delete;

 private:
  bool grad_before_;
  bool autocast_;
};

}  // namespace ulpfuzz::libtorch
