#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systems/pool.h"
#include "systems/request.h"
#include "systems/result.h"

namespace ulpfuzz {

// A request of a system whose worker makes a package that another worker, its runner, runs.
struct PackageJob {
  const RunRequest* request = nullptr;
  const ExpectedRun* expected = nullptr;
  WorkerCommand maker, runner;
  std::string message;  // to the maker
  std::int64_t id = 0;
  Limits limits;  // of CPU time: of both together
  bool stock = false;
};

// The run: stages, times and counters of both workers; an end that is not a result is of the stage
// in which it came. The package lives in memory alone, and no longer than this call. Nothing when
// the pool was stopped. Throws NotAvailable where a worker cannot be had, or the runner links
// another torch than made the package.
std::optional<Run> run_by_package(Slot& slot, const PackageJob& job, const OpTable& table);

}  // namespace ulpfuzz
