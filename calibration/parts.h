#pragma once

#include <vector>

#include "calibration/adjudication.h"
#include "calibration/calibrate.h"
#include "calibration/plan.h"

// The parts of a calibration, each in a file of its name; the fit is in fit.h.
namespace ulpfuzz {

// Systems that are legal by construction: synthetic@py under both freedom sets.
std::vector<LegalResult> calibrate_legal(const CalibrateOptions& options, const OpTable& table,
                                         Scheduler& scheduler, Cost& cost);

// Real systems without a fault, and eager@py beside them: each alarm is reduced and looked up.
std::vector<LegalResult> calibrate_real(const CalibrateOptions& options,
                                        const Adjudications& adjudications, const OpTable& table,
                                        Scheduler& scheduler, Cost& cost);

// `faults`: as planned_faults gives them.
std::vector<FaultResult> calibrate_faults(const CalibrateOptions& options,
                                          const std::vector<PlannedFault>& faults,
                                          const OpTable& table, Scheduler& scheduler, Cost& cost);

// Has the user asked to stop?
bool stopped(const CalibrateOptions& options);
void tell(const CalibrateOptions& options, const std::string& doing);
// Keeps a case for a person to look at, where the options name a folder: HASH.json.
void keep(const CalibrateOptions& options, const Case& c);
// Two whole stages of a generator's stream never share cases: a seed of its own for each.
std::uint64_t stream(const CalibrateOptions& options, std::string_view part);

}  // namespace ulpfuzz
