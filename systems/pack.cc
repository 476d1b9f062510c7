#include "systems/pack.h"

#include <algorithm>

#include "ops/random.h"
#include "systems/fault.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

bool go_together(const RunRequest& a, const RunRequest& b) {
  return a.system == b.system && a.profile == b.profile && a.test.environment == b.test.environment;
}

std::size_t group_size(std::span<const RunRequest* const> requests, const RunRequest& one) {
  return static_cast<std::size_t>(
      std::ranges::count_if(requests, [&](const RunRequest* r) { return go_together(*r, one); }));
}

}  // namespace

bool may_be_packed(const RunRequest& request) {
  if (request.test.module) return false;
  if (draws_random(request.test.program)) return false;  // one generator for all of a pack
  const Environment& environment = request.test.environment;
  if (environment.warm_caches || environment.primed_by) return false;
  if (request.system.options.contains("fault")) return false;
  const SystemKind& kind = system_kind(request.system.name);
  if (!kind.runner.empty()) return false;
  return !(request.profile && kind.compiles);
}

std::vector<std::vector<std::size_t>> plan_packs(std::span<const RunRequest* const> requests,
                                                 std::size_t largest, bool alone,
                                                 std::size_t jobs) {
  struct Open {
    std::size_t pack;
    std::size_t nodes;
  };
  std::vector<std::vector<std::size_t>> packs;
  std::vector<Open> open;  // packs that still take requests
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RunRequest& request = *requests[i];
    if (alone || largest < 2 || !may_be_packed(request)) {
      packs.push_back({i});
      continue;
    }
    const auto fits = std::ranges::find_if(open, [&](const Open& o) {
      return go_together(*requests[packs[o.pack].front()], request);
    });
    const std::size_t nodes = request.test.program.nodes.size();
    if (fits == open.end()) {
      open.push_back({packs.size(), nodes});
      packs.push_back({i});
      continue;
    }
    packs[fits->pack].push_back(i);
    fits->nodes += nodes;
    const std::size_t share = (group_size(requests, request) + jobs - 1) / jobs;
    if (packs[fits->pack].size() >= std::min(largest, share) || fits->nodes >= kPackNodes) {
      open.erase(fits);
    }
  }
  return packs;
}

}  // namespace ulpfuzz
