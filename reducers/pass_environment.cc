#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// Each switch at its default, alone.
std::vector<Environment> plainer(const Environment& e) {
  const Environment plain;
  std::vector<Environment> all{plain};
  const auto with = [&](auto Environment::*field) {
    Environment changed = e;
    changed.*field = plain.*field;
    all.push_back(std::move(changed));
  };
  with(&Environment::device);
  with(&Environment::threads);
  with(&Environment::isa);
  with(&Environment::dynamic);
  with(&Environment::grad);
  with(&Environment::autocast);
  with(&Environment::allow_tf32);
  with(&Environment::reduced_precision_reduction);
  with(&Environment::flush_denormal);
  with(&Environment::deterministic);
  with(&Environment::rng_seed);
  with(&Environment::warm_caches);
  with(&Environment::sdpa);
  with(&Environment::primed_by);
  return all;
}

// One kernel of a list alone, a list with one less, or without a priority.
std::vector<SdpaChoice> shorter(const SdpaChoice& choice) {
  std::vector<SdpaChoice> all;
  for (std::size_t i = 0; choice.kernels.size() > 2 && i < choice.kernels.size(); ++i) {
    all.push_back({{choice.kernels[i]}, false});
    if (choice.set_priority) all.push_back({{choice.kernels[i]}, true});
  }
  for (std::size_t i = 0; choice.kernels.size() > 1 && i < choice.kernels.size(); ++i) {
    SdpaChoice fewer = choice;
    fewer.kernels.erase(fewer.kernels.begin() + static_cast<std::ptrdiff_t>(i));
    all.push_back(std::move(fewer));
  }
  SdpaChoice any_order = choice;
  any_order.set_priority = false;
  all.push_back(std::move(any_order));
  return all;
}

}  // namespace

std::vector<Case> environment_candidates(const Case& c, const OpTable& table) {
  std::vector<Environment> environments = plainer(c.environment);
  for (auto field : {&Environment::sdpa, &Environment::primed_by}) {
    if (!(c.environment.*field)) continue;
    for (const SdpaChoice& choice : shorter(*(c.environment.*field))) {
      Environment changed = c.environment;
      changed.*field = choice;
      environments.push_back(std::move(changed));
    }
  }
  std::vector<Case> candidates;
  for (Environment& environment : environments) {
    if (environment == c.environment) continue;
    Case candidate = c;
    candidate.environment = std::move(environment);
    if (has_origin(c)) {
      candidates.push_back(std::move(candidate));
    } else if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
      candidates.push_back(std::move(*tidied));
    }
  }
  return candidates;
}

}  // namespace ulpfuzz
