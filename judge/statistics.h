#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/verdict.h"
#include "judge/model.h"
#include "oracle/oracle.h"

// How far a tensor lies from the exact value, against legal executions of the same input set. The
// method is docs/judge.md's, "The statistics".
namespace ulpfuzz {

// What a fault does to a tensor, and the statistic that shows it. With d = y - exact and s the
// scale of each element's error among legal executions:
enum class Statistic : std::uint8_t {
  kElement,  // one element off: log max |d| / s
  kDrift,    // worse throughout: log RMS d
  kScale,    // values too large or too small: sum d e / s^2 over sqrt(sum e^2 / s^2), e = exact
  kApart,    // apart from eager, of what rounds each intermediate as eager does: log RMS(y - eager)
};
// Those that look at the distance to the exact value. All tensors have them.
inline constexpr std::array kStatistics{Statistic::kElement, Statistic::kDrift, Statistic::kScale};
std::string_view name(Statistic statistic);  // "element"

// What a correct system is allowed beyond its legal executions on a rung of the ladder, by the
// rung's label ("bfloat16").
judge_model::Allowance allowance(Statistic statistic, std::string_view rung);

// RMS error over the elements that can be compared (and, unless it is empty, that `only` names); 0
// when there is none.
double rms_error(const std::vector<double>& values, const ExactTensor& exact,
                 const std::vector<bool>& only = {});

// RMS error of rounding the exact values to their dtype, over the same elements, as if the errors
// were uniform within half an ulp.
double rounding_error(const ExactTensor& exact, const std::vector<bool>& only = {});

// The legal executions of a tensor, as far as a system is held against them. Elements that are
// exactly 0 in all of them do not count, of which the model knows nothing: x - mean(x) of one
// element is 0 for an execution that subtracts, while x * rstd - mean * rstd, as legal, leaves a
// residue.
struct Spread {
  std::vector<bool> errs;     // by element: counts
  std::vector<double> scale;  // by element: s; 0 where it does not count
  double floor = 0;           // RMS of the final rounding: errors below are not told apart
  double mean_log = 0;        // of log RMS error of the legal runs: mean, standard deviation
  double sd_log = 0;
  double sd_drift = 0;  // standard deviation of excess() of it
  // The other two statistics of each legal run, its own error left out of s.
  double mean_element = 0, sd_element = 0;  // sd: of excess()
  double unit_scale = 1, sd_scale = 0;      // hypot(1, RMS), and RMS in this unit
  double mean_apart = 0, sd_apart = 0;  // of log RMS of the distance of two runs; sd: of excess()
  bool valid = false;                   // there is an element that counts
};
// `legal`: by run, at least two of them; else the result is not valid.
Spread spread(const std::vector<std::vector<double>>& legal, const ExactTensor& exact);

// log(RMS of `values` / legal RMS), both over the elements that count, with the floor added to
// both.
double log_ratio(const std::vector<double>& values, const ExactTensor& exact, const Spread& legal);

// All statistics of `values`, in the order of kStatistics: of one element and of drift less the
// mean among legal executions, in log units; of scale in its unit, with its sign. null_sd is that
// of excess().
std::vector<Deviation> deviations(const std::vector<double>& values, const ExactTensor& exact,
                                  const Spread& legal);

// How far the results of a system lie from eager's, less the mean distance of two legal executions,
// in log units, the floor added to both. Two executions of one freedom set share their roundings as
// far as noise lets them, so they lie closer to each other than to the exact value where the dtype
// of intermediates is what errs.
Deviation apart(const std::vector<double>& values, const std::vector<double>& eager,
                const Spread& legal);

// What counts of a statistic against a system. One that is better than the mean legal execution
// counts as that: the log of an error near 0 has no end, and its variance would hide what is worse.
double excess(Statistic statistic, double value);

}  // namespace ulpfuzz
