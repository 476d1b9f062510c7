#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/verdict.h"
#include "kernels/elements.h"
#include "oracle/prepared.h"
#include "oracle/task.h"

namespace ulpfuzz {

// Holds what code under test gave against exact arithmetic, many times a second. Every execution is
// compared with real arithmetic in double; where an element is more than a few roundings of its
// dtype away, the bound on all legal executions is evaluated for these inputs, and that decides, by
// the judge's own rule (judge/facts.h).
class KernelCheck {
 public:
  // Throws Error when the case does not verify. Refers to `elements`.
  KernelCheck(const Case& test, const OpTable& table, const InputElements& elements);
  ~KernelCheck();

  // How far an element of an output lies from real arithmetic, for feedback.
  struct Distance {
    int output = 0;
    std::int64_t element = 0;
    int octave = 0;  // of the error in roundoffs of the exact value, in kOctaves steps
  };
  static constexpr int kOctaves = 32;

  // Evaluates the program on these elements; before compare().
  void evaluate(std::span<const std::byte> whole);
  // Looks at one result's elements as torch stores them. Adds to `distances` those that are not 0.
  // True when the bound must be asked: some element is too far away.
  bool compare(std::size_t output, std::span<const std::byte> got,
               std::vector<Distance>& distances) const;

  // What is wrong with results (bytes of each, in order) by the bound; empty: nothing. Costs some
  // microseconds a node. `share` becomes the largest error in units of its bound.
  std::vector<Fact> facts(std::span<const std::byte> whole,
                          const std::vector<std::span<const std::byte>>& outputs,
                          double& share) const;

  // What is compared, in a Run's order; one with slot Plan::kNone is a gradient that is not there.
  const std::vector<WantedResult>& results() const { return task_.results(); }

 private:
  const InputElements& elements_;
  Task task_;
  std::vector<Tensor<double>> inputs_;
  std::unique_ptr<Prepared> prepared_;
  std::vector<std::vector<std::int64_t>> positions_;  // of each result's elements
  std::vector<Elements> cotangents_;
};

}  // namespace ulpfuzz
