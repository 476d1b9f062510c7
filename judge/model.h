#pragma once

#include <array>
#include <cstddef>

namespace ulpfuzz::judge_model {

// Every constant of the judge. The hash of a text that lists them is part of each verdict
// (Judge::model_hash), so a changed constant invalidates what was concluded with the old one.

// Part of the hash: raise it when the method changes.
inline constexpr int kVersion = 10;

// An element is `wrong` when its error exceeds this times the first-order bound. The bound leaves
// out second-order terms, which the factor covers with room for formulas that nobody listed.
inline constexpr double kBoundFactor = 2.0;

// Legal executions drawn per freedom set.
inline constexpr int kLegalRuns = 16;

// Legal executions that must all give numbers where nothing else says whether a NaN is legal.
inline constexpr int kFiniteRuns = 64;

// Scale of an element's error: how many legal executions the errors of its row and column are worth
// beside its own, and the least length of a row or column that is asked.
inline constexpr double kPooling = 8;
inline constexpr std::size_t kLeastLine = 4;

// What a correct system is allowed beyond the legal executions that model it, by statistic (one
// element, drift: log units; scale: units of the legal executions). Margin: of the mean over input
// sets. Misfit: standard deviation over input sets that legal executions do not show. Both are
// fitted (docs/judge.md, "Fit").
struct Allowance {
  double margin;
  double misfit;
};
using Allowances = std::array<Allowance, 3>;  // in the order of kStatistics (judge/statistics.h)
inline constexpr Allowances kHalf{{{0.85, 0.8}, {0.8, 0.8}, {1.5, 4}}};  // float16, bfloat16
// float32. Faults lie far out there, and reductions longer than those of generated programs are not
// in the fit: so the margins of element and drift are log 10, by choice (docs/judge.md, "Fit").
inline constexpr Allowances kWide{{{2.3, 0.4}, {2.3, 0.45}, {4.5, 2.3}}};

// The same of a half-typed system that rounds as eager does and its distance to eager, in tensors
// of at least so many elements.
inline constexpr Allowance kApart{0.1, 0.2};
inline constexpr std::size_t kApartElements = 16;

// The same for `wrong`, of one element and of drift, on a rung of float32 or more: semantic faults
// lie at 1e3 to 1e6 there, correct systems below 2.
inline constexpr double kWrongMargin = 3.4;  // log 30

// Misfit of the legal executions' mean log RMS error to that of correct systems, in log units
// (standard deviation over tensors; docs/judge.md).
inline constexpr double kMisfit = 0.3;

// Screening: mean excess over the margin, in standard errors, at which fresh input sets are asked
// for.
inline constexpr double kScreen = 2.0;
// How many fresh sets there are after each round of asking.
inline constexpr std::array kFreshSets{4, 8, 16, 32};
// Probability of a false claim, for each test that is begun.
inline constexpr double kClaimError = 1e-4;
// Shares of the wealth that an e-process bets; excess beyond which a set counts no more.
inline constexpr std::array kBets{0.1, 0.3, 0.6, 0.95};
inline constexpr double kLargestExcess = 30;
// Where all suspects' e-values are below, no more sets are asked for.
inline constexpr double kHopeless = 0.25;
// Where eager lies nearly as far out, the reference or a formula that both use is to be asked, and
// nothing is claimed of a system beside it: log of the ratio up to which it is near, for `wrong`
// and for `less-accurate` above the first rung.
inline constexpr double kEagerNearWrong = 1.39;  // log 4
inline constexpr double kEagerNear = 0.69;       // log 2

// An intermediate diverges when its excess over the margin on one input set is this many standard
// deviations (docs/causes.md).
inline constexpr double kDiverges = 5.0;

// The ladder is climbed when a half-precision tensor's log ratio or share of the bound exceeds:
inline constexpr double kClimbRatio = 0.4;
inline constexpr double kClimbBound = 0.5;

// Two forms of one computation contradict each other when, on each of this many input sets, the
// upper quartile of their distance exceeds this times that of their spread (docs/relations.md).
// Tensors of fewer elements are not asked.
inline constexpr double kRelationRatio = 30;
inline constexpr int kRelationSets = 3;
inline constexpr std::size_t kRelationElements = 16;

// Causes (docs/causes.md): what a choice, and a branch, must bring of the objective; the objective
// of a tensor with a residual of half its scale; replays that estimate the scale, and the noise of
// an assignment; what a residual may exceed that noise by, whose RMS is estimated from few and has
// heavy tails, as roundings rarely fall the other way; near-ties that are looked at; sections of
// the nodes in a round of prefixes.
inline constexpr double kGain = 1e-9;
inline constexpr double kBranchGain = 1e-3;
inline constexpr double kClean = 0.1;
inline constexpr int kScaleRuns = 4;
inline constexpr int kNoiseRuns = 8;
inline constexpr double kReplayFactor = 3;
inline constexpr std::size_t kMostTies = 512;
inline constexpr std::size_t kSections = 8;

}  // namespace ulpfuzz::judge_model
