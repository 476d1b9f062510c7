#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/run.h"

namespace ulpfuzz::libtorch {

// Collects, while it lives, the operators of interest that run anywhere in the process
// (PROTOCOL.md, "Kernels"), by what the dispatcher reports to profilers. One at a time.
class KernelWatch {
 public:
  KernelWatch();
  ~KernelWatch();
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;

  void phase(const std::string& name);      // of what runs from now on
  std::vector<KernelRecord> found() const;  // by name and phase, then in order of appearance
};

}  // namespace ulpfuzz::libtorch
