#pragma once

#include <cstddef>

namespace ulpfuzz::judge_model {

// Every constant of the judge. The hash of a text that lists them is part of each verdict
// (Judge::model_hash), so a changed constant invalidates what was concluded with the old one.

// Part of the hash: raise it when the method changes.
inline constexpr int kVersion = 6;

// An element is `wrong` when its error exceeds this times the first-order bound. The bound leaves
// out second-order terms, which the factor covers with room for formulas that nobody listed.
inline constexpr double kBoundFactor = 2.0;

// Legal executions drawn per freedom set.
inline constexpr int kLegalRuns = 16;

// Misfit of the legal executions' mean log RMS error to that of correct systems, in log units
// (standard deviation over tensors; docs/judge.md).
inline constexpr double kMisfit = 0.3;

// Margin δ of the equivalence hypothesis "log ratio <= δ": a system may be this much less accurate
// than the mean legal execution without being called so.
inline constexpr double kMargin = 0.7;

// Screening: excess over the margin in standard deviations at which fresh seeds are asked for.
inline constexpr double kScreen = 3.0;
// Confirmation on fresh seeds only: mean excess in standard deviations.
inline constexpr double kConfirm = 5.0;
inline constexpr int kFreshSeeds = 4;

// On a rung of float32 or more a tensor whose RMS error is this many times the mean legal one (in
// log units, and kConfirm standard deviations beyond) is `wrong`: semantic faults lie at 1e3 to 1e6
// there, correct systems below 2.
inline constexpr double kWrongRatio = 3.4;  // log 30

// The ladder is climbed when a half-precision tensor's log ratio or share of the bound exceeds:
inline constexpr double kClimbRatio = 0.4;
inline constexpr double kClimbBound = 0.5;

// Two forms of one computation contradict each other when, on each of this many input sets, the
// upper quartile of their distance exceeds this times that of their spread (docs/relations.md).
// Tensors of fewer elements are not asked.
inline constexpr double kRelationRatio = 30;
inline constexpr int kRelationSets = 3;
inline constexpr std::size_t kRelationElements = 16;

}  // namespace ulpfuzz::judge_model
