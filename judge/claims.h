#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/verdict.h"
#include "judge/model.h"
#include "judge/statistics.h"

// Claims on the strength of statistics: from the deviations of a system's tensors on several input
// sets to what is said of it, at a stated error rate (docs/judge.md, "Claims").
namespace ulpfuzz {

// Deviations by tensor and input set, in the order of kStatistics.
using Observed = std::map<std::string, std::map<std::uint64_t, std::vector<Deviation>>>;
void merge(Observed& into, const Observed& more);

// A statistic of a tensor that the first look found far out.
struct Suspect {
  std::string tensor;
  Statistic statistic = Statistic::kDrift;
  auto operator<=>(const Suspect&) const = default;
};

// A suspect after fresh input sets.
struct Weighed {
  Suspect suspect;
  double mean = 0;     // of the statistic
  int sets = 0;        // input sets that it was seen on
  double e_value = 1;  // evidence against "the excess over the margin is at most 0"
  // The same, held against all suspects at once: the least mean of the e-values of a set of them
  // that this one is in. Those of at least 1/a hold together with a probability of 1 - a (closed
  // testing; V. Vovk, R. Wang, E-values: calibration, combination and applications, Annals of
  // Statistics 49, 2021).
  double among_all = 1;
};

// One test: does some tensor of a system lie farther out than is allowed?
class ClaimTest {
 public:
  // `kind`: kWrong or kLessAccurate. `rung`: the label of the ladder's rung. `first`: deviations on
  // the input sets that choose the suspects, and are used for nothing else.
  ClaimTest(VerdictKind kind, std::string rung, const Observed& first);

  VerdictKind kind() const { return kind_; }
  bool begun() const { return !suspects_.empty(); }
  std::vector<std::string> tensors() const;  // of the suspects
  void leave_out(const std::string& tensor);

  // `fresh`: deviations on the fresh input sets so far, in their order.
  std::vector<Weighed> weigh(const Observed& fresh) const;
  // Those that hold together at an error rate of judge_model::kClaimError.
  static std::vector<Weighed> established(const std::vector<Weighed>& all);
  // Nothing is established yet, and further input sets may change that.
  static bool open(const std::vector<Weighed>& all);

  judge_model::Allowance allowed(Statistic statistic) const;

 private:
  // A suspect with what the first look says of the variance among legal executions.
  struct Chosen {
    Suspect suspect;
    double squares = 0;  // sum of null_sd^2
    int sets = 0;
  };
  std::optional<Chosen> choose(const std::string& tensor, Statistic statistic,
                               const std::map<std::uint64_t, std::vector<Deviation>>& seen) const;
  Weighed weigh(const Chosen& chosen, const Observed& fresh) const;

  VerdictKind kind_;
  std::string rung_;
  std::vector<Chosen> suspects_;
};

// Facts of what a test establishes, one a tensor: the statistic that says it best. Where eager,
// held against the same legal executions, lies nearly as far out, nothing is said (`above`: on a
// rung on which eager itself is not judged).
std::vector<Fact> claims(const ClaimTest& test, const Observed& fresh, const Observed& eager,
                         const std::string& rung, bool above);

}  // namespace ulpfuzz
