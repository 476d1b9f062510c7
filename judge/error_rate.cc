#include "judge/error_rate.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "judge/model.h"

namespace ulpfuzz {

std::vector<double> claimed(const Verdict& verdict) {
  std::map<std::pair<VerdictKind, std::string>, double> by_test;
  for (const Fact& fact : verdict.facts) {
    if (fact.e_value <= 0) continue;
    double& most = by_test[{fact.kind, fact.rung}];
    most = std::max(most, fact.e_value);
  }
  std::vector<double> e_values;
  for (const auto& [test, e_value] : by_test) e_values.push_back(e_value);
  return e_values;
}

ErrorRate error_rate(std::int64_t tests, const std::vector<double>& e_values) {
  ErrorRate rate{tests, static_cast<std::int64_t>(e_values.size())};
  rate.false_claims = static_cast<double>(tests) * judge_model::kClaimError;
  if (e_values.empty()) return rate;
  const double least = *std::ranges::min_element(e_values);
  rate.false_discovery_rate =
      std::min(1.0, static_cast<double>(tests) / (static_cast<double>(rate.claims) * least));
  return rate;
}

}  // namespace ulpfuzz
