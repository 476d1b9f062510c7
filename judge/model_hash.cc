#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/hash.h"
#include "judge/judge.h"
#include "judge/model.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

template <class T, std::size_t n>
std::string text(const std::array<T, n>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

std::string text(const model::Allowances& allowances) {
  std::string all;
  for (const auto [margin, misfit] : allowances) all += fmt::format("{} {} ", margin, misfit);
  return all;
}

// Every constant of judge/model.h, in its order.
std::string constants() {
  using namespace judge_model;
  std::string all;
  const auto add = [&](const auto&... values) { ((all += fmt::format("{} ", values)), ...); };
  add(kVersion, kBoundFactor, kLegalRuns, kFiniteRuns, kPooling, kLeastLine, text(kHalf),
      text(kWide));
  add(kApart.margin, kApart.misfit, kApartElements);
  add(kWrongMargin, kMisfit, kScreen, text(kFreshSets), kClaimError);
  add(text(kBets), kLargestExcess, kHopeless, kEagerNearWrong, kEagerNear, kDiverges);
  add(kClimbRatio, kClimbBound, kRelationRatio, kRelationSets, kRelationElements);
  add(kGain, kBranchGain, kClean, kScaleRuns, kNoiseRuns, kReplayFactor, kMostTies, kSections);
  return all;
}

}  // namespace

std::string Judge::model_hash() {
  static const std::string hash = sha256_hex(constants()).substr(0, 16);
  return hash;
}

}  // namespace ulpfuzz
