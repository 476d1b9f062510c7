#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/calibrate.h"
#include "ir/verdict.h"
#include "judge/statistics.h"

// How far correct systems lie from the legal executions that model them: what the allowances of
// judge/model.h are fitted to (docs/judge.md, "Fit").
namespace ulpfuzz {

// A tensor of a correct system over several input sets.
struct FitSample {
  std::string system, freedom, rung;
  std::string place;   // place_of_tensor
  std::string source;  // first 12 digits of the hash of the case, and the tensor's name
  int sets = 0;
  struct Series {  // of excess() of a statistic
    double mean = 0;
    double sd = 0;       // over input sets
    double null_sd = 0;  // root mean square of those of legal executions
    // Standard deviation over input sets that legal executions do not show.
    double misfit() const;
  };
  std::array<Series, kStatistics.size()> series = {};  // in the order of kStatistics
};

// Of the clean verdict of a system, with several input sets, every tensor that was held against
// legal executions on at least `kLeastFitSets` of them. Nothing of a finding: it is not correct.
inline constexpr int kLeastFitSets = 6;
void add_samples(const Verdict& verdict, const std::string& freedom, const std::string& source,
                 std::vector<FitSample>& samples);

// Samples as comma-separated values with a heading, as calibration/fit.csv has them; numbers to
// two digits.
std::string fit_csv(const std::vector<FitSample>& samples);
// Throws Error with the line of what is not so.
std::vector<FitSample> read_fit_csv(const std::string& path);

// The upper 95 % confidence limit of the 99.8 % quantile of `x`, whatever its law: the order
// statistic that exceeds it with that confidence (S. Wilks, Determination of sample sizes for
// setting tolerance limits, 1941). 1497 values are the least that have one; infinite for fewer.
double upper_limit(std::vector<double> x);

// By rung ("half", "float32") and statistic, what the samples say.
std::vector<FitResult> fit_results(const std::vector<FitSample>& samples);

// Every tensor of generated cases on correct systems: the real systems of the options and eager,
// less what was judged a finding, and legal executions of the synthetic system.
std::vector<FitSample> fit_samples(const CalibrateOptions& options, const OpTable& table,
                                   Scheduler& scheduler, Cost& cost);

}  // namespace ulpfuzz
