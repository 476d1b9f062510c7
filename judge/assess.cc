#include "judge/assess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "judge/elements.h"
#include "judge/model.h"
#include "judge/parallel.h"
#include "judge/relation.h"
#include "oracle/scalar.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Everything about one tensor of one input set.
class TensorAssessment {
 public:
  TensorAssessment(Assessment& out, bool is_eager, const FreedomSet& freedom,
                   const std::string& rung, Reference& reference,
                   const std::vector<std::string>& watched)
      : out_(out),
        is_eager_(is_eager),
        freedom_(freedom),
        rung_(rung),
        reference_(reference),
        watched_(watched) {}

  void assess(const TensorResult& result, const TensorResult* eager, const Exact& exact,
              std::size_t index, std::uint64_t salt) {
    const ExactTensor& truth = exact.tensors[index];
    if (!result.present || !truth.present) return;
    ElementCheck check = check_elements(
        result, is_eager_ ? nullptr : eager, truth, rung_, out_.facts,
        [&](std::size_t i) { return reference_.must_be_finite(salt, freedom_, index, i); });
    out_.compared |= check.comparable;
    if (check.masked_difference) masked(truth, check);
    const bool differs = !check.same_as_eager;
    const bool testable = !is_integral(truth.type.dtype) && check.comparable && !exact.quad;
    if (testable && std::ranges::find(watched_, truth.name) != watched_.end()) {
      watch(result, eager, truth, index, salt);
    } else if (testable && (is_eager_ ? check.measure.rms_error > 0 : differs)) {
      against_legal(result, eager, truth, check, index, salt);
    } else if (!is_eager_ && differs && check.comparable) {
      reordered(truth, "differs from eager, inside the bound");
    }
    check.measure.input_set = salt;
    out_.measures.push_back(check.measure);
  }

 private:
  // Differs from eager only where no execution is preferred: a near-tie, or anything goes.
  void masked(const ExactTensor& truth, const ElementCheck& check) {
    Fact fact;
    fact.kind = (check.masked_marks & kNearTie) != 0 ? VerdictKind::kDiscontinuity
                                                     : VerdictKind::kUndecided;
    fact.tensor = truth.name;
    fact.rung = rung_;
    fact.strength = "observed";
    fact.detail = truth.name + ": differs from eager in elements that the inputs do not decide";
    out_.facts.push_back(std::move(fact));
  }

  void watch(const TensorResult& result, const TensorResult* eager, const ExactTensor& truth,
             std::size_t index, std::uint64_t salt) {
    const Spread& legal = reference_.spreads(salt, freedom_)[index];
    if (!legal.valid) return;
    observe(result, eager, truth, legal, salt, deviations(result.reals(), truth, legal));
    if (is_eager_ || eager == nullptr || eager->layout.dtype != result.layout.dtype) return;
    out_.eager_observed[truth.name][salt] = deviations(eager->reals(), truth, legal);
  }

  // Beside what every tensor has: how far from eager, where both round every intermediate.
  void observe(const TensorResult& result, const TensorResult* eager, const ExactTensor& truth,
               const Spread& legal, std::uint64_t salt, std::vector<Deviation> all) {
    const bool alike = !is_eager_ && freedom_.round_use == 1 && is_half(narrowest(truth));
    if (alike && eager != nullptr && eager->layout.dtype == result.layout.dtype &&
        truth.values.size() >= model::kApartElements) {
      all.push_back(apart(result.reals(), eager->reals(), legal));
    }
    out_.observed[truth.name][salt] = std::move(all);
  }

  void against_legal(const TensorResult& result, const TensorResult* eager,
                     const ExactTensor& truth, ElementCheck& check, std::size_t index,
                     std::uint64_t salt) {
    const Spread& legal = reference_.spreads(salt, freedom_)[index];
    if (!legal.valid) {
      out_.doubtful |= check.measure.bound_ratio > model::kClimbBound;
      if (!is_eager_) reordered(truth, "differs from eager, inside the bound");
      return;
    }
    check.measure.deviations = deviations(result.reals(), truth, legal);
    observe(result, eager, truth, legal, salt, check.measure.deviations);
    const double ratio =
        check.measure.deviations.at(static_cast<std::size_t>(Statistic::kDrift)).value;
    check.measure.rms_ratio = std::exp(ratio);
    const DType narrow = narrowest(truth);
    if (is_half(narrow)) {
      out_.doubtful |= ratio > model::kClimbRatio || check.measure.bound_ratio > model::kClimbBound;
    }
    if (is_eager_) return;
    if (!is_half(narrow)) return reordered(truth, "differs from eager within accumulation error");
    // Wider intermediates are a reason only for what may keep them, and to err less than eager.
    const bool wider =
        freedom_.round_use < 1 && check.measure.rms_error < check.measure.eager_rms_error;
    Fact fact;
    fact.kind = wider ? VerdictKind::kExcessPrecision : VerdictKind::kReordered;
    fact.tensor = truth.name;
    fact.rung = rung_;
    fact.strength = "statistical";
    fact.statistic = std::exp(ratio);
    fact.detail = fmt::format("{}: RMS error {:.3g}, eager's {:.3g}", truth.name,
                              check.measure.rms_error, check.measure.eager_rms_error);
    out_.facts.push_back(std::move(fact));
  }

  void reordered(const ExactTensor& truth, const char* detail) {
    Fact fact;
    fact.kind = VerdictKind::kReordered;
    fact.tensor = truth.name;
    fact.rung = rung_;
    fact.strength = "bound";
    fact.detail = truth.name + ": " + detail;
    out_.facts.push_back(std::move(fact));
  }

  // The rung's label is the narrowest dtype of the case.
  DType narrowest(const ExactTensor& truth) const {
    return parse_dtype(rung_).value_or(truth.type.dtype);
  }

  Assessment& out_;
  bool is_eager_;
  const FreedomSet& freedom_;
  const std::string& rung_;
  Reference& reference_;
  const std::vector<std::string>& watched_;
};

// What several input sets show alike, said once: by the one that shows it most.
std::vector<Fact> said_once(const std::vector<Fact>& facts, int sets) {
  if (sets < 2) return facts;
  std::vector<Fact> merged;
  std::vector<int> times;
  for (const Fact& fact : facts) {
    const auto same = [&](const Fact& other) {
      return other.kind == fact.kind && other.tensor == fact.tensor && other.rung == fact.rung &&
             other.strength == fact.strength && !fact.tensor.empty();
    };
    const auto found = std::ranges::find_if(merged, same);
    if (found == merged.end()) {
      merged.push_back(fact);
      times.push_back(1);
      continue;
    }
    ++times[static_cast<std::size_t>(found - merged.begin())];
    if (std::abs(fact.statistic) > std::abs(found->statistic)) *found = fact;
  }
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (merged[i].tensor.empty() || merged[i].strength == "observed") continue;
    merged[i].detail += fmt::format("; so on {} of {} input sets", times[i], sets);
  }
  return merged;
}

// Of each tensor: every element that is a number in exact arithmetic is one in all of the runs.
std::vector<bool> always_finite(const Exact& exact, const LegalRuns& legal) {
  std::vector<bool> all;
  for (std::size_t t = 0; t < exact.tensors.size(); ++t) {
    const std::vector<double>& values = exact.tensors[t].values;
    all.push_back(std::ranges::all_of(legal.values[t], [&](const std::vector<double>& run) {
      for (std::size_t i = 0; i < std::min(run.size(), values.size()); ++i) {
        if (std::isfinite(values[i]) && !std::isfinite(run[i])) return false;
      }
      return true;
    }));
  }
  return all;
}

}  // namespace

const Exact& Reference::exact(Values& values, std::uint64_t salt) const {
  if (!values.exact) values.exact = oracle_.exact(case_, salt);
  return *values.exact;
}

const std::vector<Spread>& Reference::spreads(Values& values, std::uint64_t salt,
                                              const FreedomSet& freedom) const {
  auto [it, fresh] = values.spreads.try_emplace(freedom.name);
  if (!fresh) return it->second;
  const Exact& truth = exact(values, salt);
  const LegalRuns legal = oracle_.legal(case_, salt, freedom, legal_runs_, salt);
  for (std::size_t i = 0; i < truth.tensors.size(); ++i) {
    const bool has = i < legal.values.size() && !legal.values[i].empty() &&
                     is_floating(truth.tensors[i].type.dtype);
    it->second.push_back(has ? spread(legal.values[i], truth.tensors[i]) : Spread{});
  }
  return it->second;
}

const Exact& Reference::exact(std::uint64_t salt) { return exact(values_[salt], salt); }

bool Reference::must_be_finite(std::uint64_t salt, const FreedomSet& freedom, std::size_t tensor,
                               std::size_t element) {
  Values& values = values_[salt];
  if (!values.expected) values.expected = oracle_.expected(case_, salt);
  const ExactTensor& expected = values.expected->tensors[tensor];
  const Standing stands = standing(expected, element);
  if (stands != Standing::kUnbounded) return stands == Standing::kBounded;
  // First order fails there too. The range of the opmath type inside of kernels is all that legal
  // executions do not carry.
  const ExactTensor& truth = exact(salt).tensors[tensor];
  if (((marks_of(truth, element) | marks_of(expected, element)) & kRange) != 0) return false;
  auto [it, fresh] = values.finite.try_emplace(freedom.name);
  if (fresh)
    it->second = always_finite(exact(salt),
                               oracle_.legal(case_, salt, freedom, model::kFiniteRuns, salt + 1));
  return it->second[tensor];
}

const std::vector<Spread>& Reference::spreads(std::uint64_t salt, const FreedomSet& freedom) {
  return spreads(values_[salt], salt, freedom);
}

void Reference::prepare(const std::vector<std::uint64_t>& salts, const FreedomSet& freedom) {
  std::vector<std::pair<std::uint64_t, Values*>> missing;
  for (const std::uint64_t salt : std::set(salts.begin(), salts.end())) {
    Values& values = values_[salt];
    if (!values.spreads.contains(freedom.name)) missing.emplace_back(salt, &values);
  }
  if (missing.size() < 2) return;
  for_each_on_all_cores(missing, [&](const auto& entry) {
    if (!exact(*entry.second, entry.first).quad) spreads(*entry.second, entry.first, freedom);
  });
}

Assessment assess(const Run& run, const Run& eager, bool is_eager,
                  const std::vector<std::uint64_t>& input_sets, const FreedomSet& freedom,
                  const std::string& rung, Reference& reference, bool values,
                  const std::vector<std::string>& watched) {
  Assessment out;
  if (!run.has_values) {
    free_relation_facts({run, eager, is_eager, input_sets, rung, out.facts});
    out.compared = true;
    return out;
  }
  const bool has_results =
      is_eager ? eager_event_facts(run, rung, out.facts) : event_facts(run, eager, rung, out.facts);
  if (!has_results) return out;
  free_relation_facts({run, eager, is_eager, input_sets, rung, out.facts});
  TensorAssessment tensors(out, is_eager, freedom, rung, reference, watched);
  if (values) reference.prepare(input_sets, freedom);
  std::set<std::uint64_t> open(input_sets.begin(), input_sets.end());
  int sets = 0;
  for (std::size_t x = 0; x < run.executions.size(); ++x) {
    const Execution& execution = run.executions[x];
    if (x >= eager.executions.size() || open.erase(execution.input_set) == 0) continue;
    ++sets;
    const Execution& beside = eager.executions[x];
    if (!values) continue;
    const Exact& exact = reference.exact(execution.input_set);
    for (std::size_t i = 0; i < exact.tensors.size(); ++i) {
      const TensorResult* result = execution.find(exact.tensors[i].name);
      if (result == nullptr) continue;
      tensors.assess(*result, beside.find(exact.tensors[i].name), exact, i, execution.input_set);
    }
  }
  out.facts = said_once(out.facts, sets);
  return out;
}

}  // namespace ulpfuzz
