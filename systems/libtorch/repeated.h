#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz::libtorch {

// A case that runs eagerly in this process, again and again, each time on other elements: its
// tensors and their layouts are made once. For processes that are nothing but a test of it, since
// an operator may crash.
class RepeatedCase {
 public:
  // A case whose sizes are numbers and whose inputs share no storage, on a CPU. Puts its
  // environment in force for the process (switches.h). `written`: inputs that the program writes.
  // `fault`: one of a worker's (faults.h) that every run has; "": none.
  RepeatedCase(Case c, std::vector<std::string> written, std::string fault);
  ~RepeatedCase();
  RepeatedCase(const RepeatedCase&) = delete;
  RepeatedCase& operator=(const RepeatedCase&) = delete;

  // Runs it, forward and backward, on `elements`: those of all inputs one after another, row-major,
  // as torch stores them. False where torch raises.
  bool run(std::span<const std::byte> elements);

  // Elements of a result, in the order of a Run's (outputs, inputs that were written, gradients),
  // row-major, good until the next run(). Empty: a gradient that is None.
  std::span<const std::byte> result(std::size_t index) const;

 private:
  struct Tensors;
  const Case case_;
  const std::vector<std::string> written_;
  const std::string fault_;
  std::unique_ptr<Tensors> tensors_;
};

}  // namespace ulpfuzz::libtorch
