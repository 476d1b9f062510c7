#pragma once

#include <cstdint>
#include <vector>

#include "ir/verdict.h"

// How far the statistical claims of many verdicts, of a campaign, can be believed together.
namespace ulpfuzz {

// The e-values of the tests of a verdict that claim something, one a test: the largest of the
// tensors that it names.
std::vector<double> claimed(const Verdict& verdict);

struct ErrorRate {
  std::int64_t tests = 0;   // begun
  std::int64_t claims = 0;  // tests that claim something
  // The number of false claims is expected to be at most this: tests x judge_model::kClaimError.
  double false_claims = 0;
  // The share of false ones among the claims is expected to be at most this, however the tests
  // depend on each other: the level at which the e-BH procedure makes all of them (R. Wang, A.
  // Ramdas, False discovery rate control with e-values, Journal of the Royal Statistical Society B
  // 84, 2022). 0 without claims.
  double false_discovery_rate = 0;
};
// `e_values`: of the tests that claim something.
ErrorRate error_rate(std::int64_t tests, const std::vector<double>& e_values);

}  // namespace ulpfuzz
