#include "calibration/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "calibration/parts.h"
#include "calibration/trial.h"
#include "generators/generate.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

// Faults of the process, and of captures: they give no results to judge. Everything else is
// calibrated.
constexpr std::string_view kOfTheProcess[] = {
    "crash", "hang", "memory", "raise", "garbage", "bad-frame", "capture-scales-attention"};

// Of single stages of a compiler, all one error: they are for bisection.
constexpr std::string_view kOfStages = "stage-";

// Only a compiler has it: what it believes of a kernel's layout.
constexpr std::string_view kFakeStride = "sdpa-fake-stride";
constexpr std::string_view kIgnoresChoice = "ignores-sdpa-choice";

bool listed(std::span<const std::string_view> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// How far the streams are looked at for a place.
constexpr std::uint64_t kMostGraphs = 1500;
constexpr std::uint64_t kMostModels = 300;

bool attends(const Case& c) {
  return std::ranges::any_of(c.program.nodes, [](const Node& node) {
    return node.op == "aten.scaled_dot_product_attention.default";
  });
}

bool has_place(const Case& c, const std::string& fault, const OpTable& table) {
  if (fault == kFakeStride) return attends(c) && !c.wrt.empty();
  if (fault == kIgnoresChoice) return attends(c) && c.environment.sdpa.has_value();
  if (!fault_kind(fault).in_program) return true;
  bool planted = false;
  try {
    plant(c, fault, table, planted);
  } catch (const Error&) {
    return false;  // what would come out is no program
  }
  return planted;
}

PlannedFault planned(const std::string& fault, FaultEffect effect) {
  const bool of_kernels = fault == kFakeStride || fault == kIgnoresChoice;
  return {fault, effect, fault == kFakeStride, of_kernels};
}

}  // namespace

std::vector<PlannedFault> planned_faults(const std::string& only) {
  std::vector<PlannedFault> all;
  for (const FaultKind& kind : fault_kinds()) {
    if (listed(kOfTheProcess, kind.name) || kind.name.starts_with(kOfStages)) continue;
    const std::string name(kind.name);
    if (!kind.takes_value()) all.push_back(planned(name, kind.effect));
    for (const FaultStrength& strength : kind.strengths) {
      all.push_back(planned(fmt::format("{}={}", name, strength.value), strength.effect));
    }
  }
  if (only.empty()) return all;
  const bool exactly = only.find('=') != std::string::npos;
  std::erase_if(all, [&](const PlannedFault& f) {
    return (exactly ? f.fault : f.fault.substr(0, f.fault.find('='))) != only;
  });
  if (!all.empty()) return all;
  if (!exactly) {
    throw Error("--only",
                "'" + only + "' is neither legal, real, faults or fit nor a planted fault");
  }
  return {planned(only, fault_kind(only).effect)};
}

const std::vector<std::string>& kinds_of_programs() {
  static const std::vector<std::string> kinds{"op graphs", "float32 models", "bfloat16 models"};
  return kinds;
}

std::vector<FaultyCase> faulty_cases(const std::string& where,
                                     const std::vector<PlannedFault>& faults,
                                     const CalibrateOptions& options, const OpTable& table) {
  const bool models = where != kinds_of_programs().front();
  Profile profile;
  profile.model_share = models ? 1 : 0;
  const std::uint64_t most = models ? kMostModels : kMostGraphs;
  const std::uint64_t seed = stream(options, models ? "faulty models" : "faulty graphs");
  std::vector<int> eager(faults.size()), compiled(faults.size());  // cases that they have
  const auto full = [&](std::size_t f) {
    return (faults[f].compiled_only || eager[f] >= options.faulty_cases) &&
           compiled[f] >= options.compiled_faulty_cases;
  };
  std::size_t open = 0;
  for (std::size_t f = 0; f < faults.size(); ++f) open += !full(f);
  std::vector<FaultyCase> result;
  for (std::uint64_t i = 0; i < most && open > 0; ++i) {
    Case c = generate_case(seed, i, table, profile);
    if (where_of(c) != where) continue;
    FaultyCase faulty{std::move(c), {}, {}};
    for (std::size_t f = 0; f < faults.size(); ++f) {
      if (full(f) || !has_place(faulty.test, faults[f].fault, table)) continue;
      if (!faults[f].compiled_only && eager[f]++ < options.faulty_cases) {
        faulty.faults.push_back(faults[f].fault);
      }
      if (compiled[f]++ < options.compiled_faulty_cases) faulty.compiled.push_back(faults[f].fault);
      open -= full(f);
    }
    if (!faulty.faults.empty() || !faulty.compiled.empty()) result.push_back(std::move(faulty));
  }
  return result;
}

std::vector<Case> clean_cases(std::uint64_t seed, int count, const OpTable& table) {
  Profile profile;
  profile.model_share = 0.2;
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    cases.push_back(generate_case(seed, static_cast<std::uint64_t>(i), table, profile));
  }
  return cases;
}

}  // namespace ulpfuzz
