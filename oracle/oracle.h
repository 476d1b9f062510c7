#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"

namespace ulpfuzz {

class Task;  // oracle/task.h

// The exact value of one result, with how far a system may lie from it.
struct ExactTensor {
  TensorResult::Role role = TensorResult::Role::kOutput;
  std::string name;                    // as TensorResult::name
  TensorType type;                     // what eager should return
  bool present = true;                 // false: a gradient that is None
  std::vector<double> values;          // floating; complex: twice as many
  std::vector<double> low;             // values + low is the result to ~100 bits; empty: zeros
  std::vector<std::int64_t> integers;  // integral
  // First-order worst-case error of any legal execution in the nominal dtypes (absolute, the
  // rounding of the result included). Infinite: anything goes.
  std::vector<double> bound;
  std::vector<std::uint8_t> marks;  // of Mark (oracle/scalar.h), one an element
  // For results of arg-reductions: is the value at a returned index as good as the best one?
  // Empty for others. acceptable[i] lists the indices that are within error of the best, up to 64.
  std::vector<std::vector<std::int64_t>> acceptable;
};

struct Exact {
  std::vector<ExactTensor> tensors;  // outputs, written inputs, gradients: the order of a Run's
  bool quad = false;                 // evaluated with 113 bits
  double cpu_seconds = 0;
  const ExactTensor* find(std::string_view name) const;
};

// What a system is free to do with intermediates. Strata are never pooled.
struct FreedomSet {
  std::string name;      // "eager", "fusing"
  double round_use = 1;  // probability that a use sees the value rounded to its nominal dtype
  double noise = 0.3;    // local error: this times the RMS running error times N(0, 1)
  // Probability that a Python scalar is seen in opmath, not nominal dtype.
  double scalar_opmath = 0;
  double contract = 0.5;  // probability that a product is not rounded before it is added to
};
FreedomSet eager_freedom();   // every node rounded; order, ulps and multiply-add free
FreedomSet fusing_freedom();  // each use rounded with probability 1/2; extern operands always

// Results of K legal executions: values[tensor][run] parallel to Exact::tensors (empty for integral
// ones and absent gradients).
struct LegalRuns {
  std::vector<std::vector<std::vector<double>>> values;
};

// Evaluates cases beyond the precision of the systems under test. Thread-safe: const throughout.
class Oracle {
 public:
  explicit Oracle(const OpTable& table) : table_(table) {}

  // Throws Error when the case does not verify. `salt` selects the input set.
  Exact exact(const Case& lowered, std::uint64_t salt = 0) const;
  // The same of a task that is evaluated often, on elements that replace those of its case's
  // inputs: `elements` of input i, row-major.
  static Exact exact(const Task& task, const std::function<Elements(std::size_t)>& elements);
  // The same values with another bound: kDeviations times the expected error, all errors being
  // independent (ErrorMode::kRms). A worst case soon has no bound in half types; this one has, but
  // a bound it is not. Infinite where a legal execution may meet a pole, the edge of a domain or
  // the end of a nominal dtype's range on the way, and so may give no number.
  static constexpr double kDeviations = 6;
  Exact expected(const Case& lowered, std::uint64_t salt = 0) const;
  LegalRuns legal(const Case& lowered, std::uint64_t salt, const FreedomSet& freedom, int runs,
                  std::uint64_t seed) const;

 private:
  const OpTable& table_;
};

}  // namespace ulpfuzz
