#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge/facts.h"
#include "judge/judge.h"

namespace ulpfuzz {

// What is known of one system on one rung.
struct Assessment {
  std::vector<Fact> facts;
  std::vector<TensorMeasure> measures;
  bool compared = false;  // results were held against exact values
  bool doubtful = false;  // a half-precision result is far out in its freedom: climb the ladder
  // Excess over the margin in standard deviations, of each tensor, averaged over the input sets.
  std::map<std::string, double> excess;
  std::map<std::string, double> ratio;  // mean log ratio to the legal executions
};

// Exact values and legal executions of one case, computed once for all systems and input sets.
class Reference {
 public:
  Reference(const Case& c, const OpTable& table) : case_(c), oracle_(table) {}
  const Case& test() const { return case_; }
  const Exact& exact(std::uint64_t salt);
  // Spread of each tensor of exact(salt) under a freedom set.
  const std::vector<Spread>& spreads(std::uint64_t salt, const FreedomSet& freedom);

 private:
  const Case& case_;
  Oracle oracle_;
  std::map<std::uint64_t, Exact> exact_;
  std::map<std::pair<std::uint64_t, std::string>, std::vector<Spread>> spreads_;
};

// `run` beside `eager` on one rung, as far as `input_sets` go: other sets of the runs are not
// looked at. Pass the same run twice to assess eager itself.
Assessment assess(const Run& run, const Run& eager, bool is_eager,
                  const std::vector<std::uint64_t>& input_sets, const FreedomSet& freedom,
                  const std::string& rung, Reference& reference);

}  // namespace ulpfuzz
