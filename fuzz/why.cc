#include "fuzz/why.h"

#include "ir/error.h"

namespace ulpfuzz {

namespace {
constexpr int kMostRounds = 16;  // of requests, before the search must have ended
}

std::vector<Causes> find_causes(const Case& lowered, const std::vector<SystemSpec>& systems,
                                std::vector<Evidence> evidence, const OpTable& table,
                                Scheduler& scheduler, Company company) {
  std::vector<Causes> all;
  for (const SystemSpec& system : systems) {
    if (system == eager_beside(system)) continue;
    CauseOptions options;
    options.system = system;
    const CauseSearch search(lowered, options, table);
    for (int round = 0; round < kMostRounds; ++round) {
      CauseSearch::Step step = search.next(evidence);
      if (step.requests.empty()) {
        all.push_back(std::move(*step.answer));
        break;
      }
      std::vector<Run> runs = scheduler.run(step.requests, company);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        evidence.push_back({std::move(step.requests[i]), std::move(runs[i])});
      }
    }
  }
  return all;
}

}  // namespace ulpfuzz
