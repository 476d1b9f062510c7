#include "judge/causes.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/error.h"
#include "judge/assignment.h"
#include "judge/diverging.h"
#include "judge/explanation.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool same_bits(const Execution& a, const Execution& b) {
  for (const TensorResult& tensor : a.tensors) {
    const TensorResult* other = b.find(tensor.name);
    if (other == nullptr || other->present != tensor.present || other->bytes != tensor.bytes) {
      return false;
    }
  }
  return a.tensors.size() == b.tensors.size();
}

}  // namespace

std::string_view name(CauseKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"same", "reordered", "excess-precision",
                                                   "discontinuity", "unexplained"};
  return kNames[static_cast<std::size_t>(kind)];
}

// What was evaluated so far; it does not depend on how often it is asked.
class CauseSearch::Memory {
 public:
  Memory(const Case& c, const CauseOptions& options, const OpTable& table)
      : diverging(c, options.system, options.input_set, table) {}
  std::optional<Causes> replayed;  // without first
  std::optional<Replay> replay;    // of the input set
  std::optional<Exact> exact;      // likewise
  DivergingSearch diverging;
};

namespace {

// The run of a request like this one, or of one with more input sets.
const Run* run_of(const std::vector<Evidence>& evidence, const RunRequest& request) {
  for (const Evidence& e : evidence) {
    if (e.request.system != request.system || !(e.request.test == request.test)) continue;
    const bool all = std::ranges::all_of(request.input_sets, [&](std::uint64_t set) {
      return !e.run.completed() || execution_of(e.run, set) != nullptr;
    });
    if (all) return &e.run;
  }
  return nullptr;
}

}  // namespace

CauseSearch::CauseSearch(const Case& lowered, CauseOptions options, const OpTable& table)
    : case_(asked_of(options.system, lowered)),
      options_(std::move(options)),
      table_(table),
      memory_(std::make_shared<Memory>(case_, options_, table)) {}

CauseSearch::Step CauseSearch::next(const std::vector<Evidence>& evidence) const {
  Step step;
  std::vector<std::uint64_t> sets{options_.input_set, options_.held_out};
  sets.insert(sets.end(), options_.further.begin(), options_.further.end());
  const auto ask = [&](const SystemSpec& system) {
    const RunRequest request{case_, system, sets};
    const Run* run = run_of(evidence, request);
    if (run == nullptr) step.requests.push_back(request);
    return run;
  };
  const Run* system = ask(options_.system);
  const Run* eager = ask(eager_beside(options_.system));
  if (!step.requests.empty()) return step;

  Causes causes;
  causes.system = to_string(options_.system);
  causes.input_set = options_.input_set;
  const Execution* mine = execution_of(*system, options_.input_set);
  const Execution* other = execution_of(*eager, options_.input_set);
  if (!system->completed() || !eager->completed() || mine == nullptr || other == nullptr) {
    causes.notes.push_back("there are no results to compare");
    step.answer = std::move(causes);
    return step;
  }
  if (same_bits(*mine, *other)) {
    causes.kind = CauseKind::kSame;
    step.answer = std::move(causes);
    return step;
  }
  const double before = thread_cpu_seconds();
  Memory& memory = *memory_;
  if (!memory.replayed) {
    memory.exact = Oracle(table_).exact(case_, options_.input_set);
    if (memory.exact->quad) {
      causes.notes.push_back("replays are evaluated in double: nothing is said of float64 values");
    } else {
      memory.replay.emplace(case_, table_, options_.input_set);
      Causes found = explain_by_replay(case_, options_, table_, *memory.replay, *memory.exact,
                                       *system, *eager);
      found.system = causes.system, found.input_set = causes.input_set;
      causes = std::move(found);
    }
    memory.replayed = std::move(causes);
  }
  if (memory.replayed->kind == CauseKind::kUnexplained) {
    DivergingSearch::Step found = memory.diverging.next(evidence, *mine);
    if (!found.requests.empty()) {
      memory.replayed->cpu_seconds += thread_cpu_seconds() - before;
      return {std::move(found.requests), std::nullopt};
    }
    memory.replayed->first = std::move(found.first);
    attribute_to_node(evidence, *mine);
  }
  memory.replayed->cpu_seconds += thread_cpu_seconds() - before;
  step.answer = memory.replayed;
  return step;
}

// With the system's own value of the first diverging node, is all else reproduced?
void CauseSearch::attribute_to_node(const std::vector<Evidence>& evidence,
                                    const Execution& mine) const {
  Memory& memory = *memory_;
  std::optional<Diverging>& first = memory.replayed->first;
  if (!first || !memory.replay) return;
  const TensorResult* value = memory.diverging.shown(evidence, first->node);
  const int slot = memory.replay->slot_of({first->node, 0});
  if (value == nullptr || slot < 0 || !value->present) return;
  Fit fit(*memory.replay, *memory.exact, mine);
  std::vector<double> numbers;
  if (is_integral(value->layout.dtype)) {
    for (const std::int64_t i : value->integers()) numbers.push_back(static_cast<double>(i));
  } else {
    numbers = value->reals();
  }
  AssignmentSearch search(*memory.replay, fit, evaluations_of(options_, *memory.replay),
                          {{slot, std::move(numbers)}});
  search.run();
  first->alone = search.found();
  memory.replayed->evaluations += search.evaluations();
}

}  // namespace ulpfuzz
