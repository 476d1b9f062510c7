#include "calibration/calibrate.h"

#include <filesystem>

#include "calibration/fit.h"
#include "calibration/parts.h"
#include "calibration/plan.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "judge/judge.h"

namespace ulpfuzz {

bool stopped(const CalibrateOptions& options) { return options.stopped && options.stopped(); }

void tell(const CalibrateOptions& options, const std::string& doing) {
  if (options.progress) options.progress(doing);
}

void keep(const CalibrateOptions& options, const Case& c) {
  if (options.cases_folder.empty()) return;
  const std::filesystem::path folder = options.cases_folder;
  std::filesystem::create_directories(folder);
  write_case((folder / (hashes(c).whole.substr(0, 12) + ".json")).string(), c);
}

std::uint64_t stream(const CalibrateOptions& options, std::string_view part) {
  const std::string hex = sha256_hex(std::to_string(options.seed) + " " + std::string(part));
  return std::stoull(hex.substr(0, 16), nullptr, 16);
}

Calibration calibrate(const CalibrateOptions& options, const OpTable& table, Scheduler& scheduler) {
  const std::string& only = options.only;
  const bool is_part = only == "legal" || only == "real" || only == "faults" || only == "fit";
  const bool all = only.empty();
  // What is not right is said before the first run.
  const std::vector<PlannedFault> faults = planned_faults(is_part ? "" : only);
  const Adjudications adjudications =
      options.adjudicated.empty() ? Adjudications() : Adjudications::read(options.adjudicated);
  Calibration result;
  result.judge_model = Judge::model_hash();
  result.fault_seeds = options.fault_seeds;
  const auto cost_of = [&](const char* part) -> Cost& {
    return result.costs.emplace_back(Cost{part});
  };
  if (all || only == "legal") {
    result.legal = calibrate_legal(options, table, scheduler, cost_of("legal"));
  }
  if (all || only == "real") {
    const std::vector<LegalResult> real =
        calibrate_real(options, adjudications, table, scheduler, cost_of("real"));
    result.legal.insert(result.legal.end(), real.begin(), real.end());
  }
  if (only == "fit") {
    const std::vector<FitSample> samples = fit_samples(options, table, scheduler, cost_of("fit"));
    result.fit = fit_results(samples);
    result.fit_csv = fit_csv(samples);
  }
  if (all || only == "faults" || !is_part) {
    result.faults = calibrate_faults(options, faults, table, scheduler, cost_of("faults"));
  }
  result.stopped = stopped(options);
  return result;
}

}  // namespace ulpfuzz
