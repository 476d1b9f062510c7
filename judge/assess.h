#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/claims.h"
#include "judge/facts.h"
#include "judge/judge.h"

namespace ulpfuzz {

// What is known of one system on one rung.
struct Assessment {
  std::vector<Fact> facts;
  std::vector<TensorMeasure> measures;
  bool compared = false;  // results were held against exact values
  bool doubtful = false;  // a half-precision result is far out in its freedom: climb the ladder
  Observed observed;      // deviations from legal executions, by tensor and input set
  // Eager's own results held against the legal executions of the system: where it lies as far out.
  // Of `watched` tensors alone.
  Observed eager_observed;
  std::vector<KernelTensorRow> kernels;
};

// Exact values and legal executions of one case, computed once for all systems and input sets.
class Reference {
 public:
  // `legal_runs`: executions drawn for each input set and freedom set.
  Reference(const Case& c, const OpTable& table, int legal_runs)
      : case_(c), oracle_(table), legal_runs_(legal_runs) {}
  const Case& test() const { return case_; }
  // Evaluates input sets ahead of their use, on all cores.
  void prepare(const std::vector<std::uint64_t>& salts, const FreedomSet& freedom);
  const Exact& exact(std::uint64_t salt);
  // Is this element, which is finite in exact arithmetic, so in every legal execution? By
  // Oracle::expected; where that has no bound, by a sample of legal executions in which no element
  // of the tensor is otherwise. False: it is not known.
  bool must_be_finite(std::uint64_t salt, const FreedomSet& freedom, std::size_t tensor,
                      std::size_t element);
  // Spread of each tensor of exact(salt) under a freedom set.
  const std::vector<Spread>& spreads(std::uint64_t salt, const FreedomSet& freedom);

 private:
  struct Values {
    std::optional<Exact> exact, expected;
    std::map<std::string, std::vector<Spread>> spreads;  // by name of the freedom set
    std::map<std::string, std::vector<bool>> finite;     // likewise; by tensor
  };
  const Exact& exact(Values& values, std::uint64_t salt) const;
  const std::vector<Spread>& spreads(Values& values, std::uint64_t salt,
                                     const FreedomSet& freedom) const;

  const Case& case_;
  Oracle oracle_;
  int legal_runs_;
  std::map<std::uint64_t, Values> values_;  // by salt
};

// `run` beside `eager` on one rung, as far as `input_sets` go: other sets of the runs are not
// looked at. Pass the same run twice to assess eager itself. Without `values` nothing is held
// against exact values. A tensor that equals eager's bit for bit says nothing of a compiler and is
// not observed, unless it is `watched`: leaving such input sets out of a test would bias it.
Assessment assess(const Run& run, const Run& eager, bool is_eager,
                  const std::vector<std::uint64_t>& input_sets, const FreedomSet& freedom,
                  const std::string& rung, Reference& reference, bool values,
                  const std::vector<std::string>& watched = {});

}  // namespace ulpfuzz
