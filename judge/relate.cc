// Asks for the runs of relations and draws conclusions.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/error.h"
#include "ir/verify.h"
#include "judge/judge.h"
#include "judge/model.h"
#include "judge/relation.h"
#include "judge/rung.h"
#include "judge/twins.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

std::vector<std::uint64_t> without_repeats(const std::vector<std::uint64_t>& sets) {
  std::vector<std::uint64_t> result;
  for (const std::uint64_t set : sets) {
    if (std::ranges::find(result, set) == result.end()) result.push_back(set);
  }
  return result;
}

// One relation on one base request.
class Relating {
 public:
  Relating(const Relation& relation, const RunRequest& base, bool is_eager, const std::string& rung,
           const OpTable& table, const Ask& ask, std::vector<Fact>& facts)
      : relation_(relation),
        base_(base),
        is_eager_(is_eager),
        rung_(rung),
        table_(table),
        ask_(ask),
        facts_(facts) {}

  void bits(const Twins& t) {
    const RunRequest one = request(t.one, t.one_system), other = request(t.other, t.other_system);
    const Run* first = ask_(one);
    const Run* second = ask_(other);
    if (first == nullptr || second == nullptr || !first->completed()) return;
    // Other circumstances alone must not raise.
    if (second->status == Run::Status::kRaised && second->exception_type != "Stopped") {
      if (t.one.program == t.other.program && t.one.inputs == t.other.inputs) {
        add(VerdictKind::kAcceptReject, "", other,
            fmt::format("{}: {} raises {}", relation_.name, t.form, second->exception_type));
      }
      return;
    }
    if (!second->completed()) return;
    const auto unequal = unequal_bits(*first, *second, t.gradients);
    if (!unequal) return;
    std::string detail =
        fmt::format("{}: {} {}; {}", relation_.name, unequal->tensor, unequal->what, t.form);
    if (unequal->others > 0) detail += fmt::format("; {} more results so", unequal->others);
    add(relation_.broken, unequal->tensor, other, std::move(detail));
  }

  // On the case's own rung and, of a half type, in float32, where rounding hides less.
  void spread(const Twins& t) {
    spread_on(t, std::nullopt);
    if (is_half(narrowest_floating(t.one))) spread_on(t, DType::kFloat32);
  }

 private:
  void spread_on(const Twins& t, std::optional<DType> raised) {
    const auto on = [&](const Case& c) { return raised ? at_rung(c, *raised, table_) : c; };
    const auto wide = [&](const Case& c) { return at_rung(c, DType::kFloat64, table_); };
    const SystemSpec eager = eager_beside(base_.system);
    const RunRequest other = many(on(t.other), t.other_system);
    SpreadRuns runs{.one = ask_(many(on(t.one), t.one_system)),
                    .other = ask_(other),
                    .eager_one = ask_(many(on(t.one), eager)),
                    .eager_other = ask_(many(on(t.other), eager)),
                    .wide_one = ask_(many(wide(t.one), eager)),
                    .wide_other = ask_(many(wide(t.other), eager))};
    for (const Run** run : {&runs.one, &runs.other, &runs.eager_one, &runs.eager_other,
                            &runs.wide_one, &runs.wide_other}) {
      if (*run == nullptr) return;
      if (!(*run)->completed()) *run = nullptr;
    }
    if (runs.one == nullptr || runs.other == nullptr || runs.eager_one == nullptr ||
        runs.wide_one == nullptr) {
      return;
    }
    judge(t, apart(runs), raised ? std::string(name(*raised)) : rung_, other);
  }

  void judge(const Twins& t, const std::vector<Apart>& all, const std::string& rung,
             const RunRequest& other) {
    const Apart* worst = nullptr;
    int broken = 0;
    for (const Apart& a : all) {
      // Eager's two forms in float64 are not one value: nothing is known to be equal.
      const bool one_value = a.wide_ratio <= 1;
      const bool blamed = is_eager_ || a.eager_ratio < a.ratio / 4;
      if (!one_value || !blamed || a.ratio <= model::kRelationRatio) continue;
      ++broken;
      if (worst == nullptr || a.ratio > worst->ratio) worst = &a;
    }
    if (worst == nullptr) return;
    std::string detail = fmt::format(
        "{}: {} differs between the case and its twin ({}), on each of {} input sets by at least "
        "{:.3g} times what rounding spreads; from eager in float64 the case lies {:.3g}, the twin "
        "{:.3g} such spreads",
        relation_.name, worst->tensor, t.form, worst->sets, worst->ratio, worst->one_off,
        worst->other_off);
    if (broken > 1) detail += fmt::format("; {} results so", broken);
    add(VerdictKind::kWrong, worst->tensor, other, std::move(detail), worst->ratio, rung);
  }

  // The run that is there already, or another of its input sets.
  RunRequest request(const Case& c, const SystemSpec& system) const {
    if (c == base_.test && system == base_.system) return base_;
    return {c, system, without_repeats(base_.input_sets), false};
  }
  static RunRequest many(Case c, const SystemSpec& system) {
    RunRequest request{std::move(c), system, {}, false};
    request.input_sets.resize(model::kRelationSets);
    for (std::size_t i = 0; i < request.input_sets.size(); ++i) request.input_sets[i] = i;
    return request;
  }

  void add(VerdictKind kind, const std::string& tensor, const RunRequest& shown_by,
           std::string detail, double statistic = 0, const std::string& rung = "") {
    Fact fact;
    fact.kind = kind;
    fact.tensor = tensor;
    fact.rung = rung.empty() ? rung_ : rung;
    fact.strength = kind == VerdictKind::kWrong ? "relation" : "observed";
    fact.statistic = statistic;
    fact.detail = std::move(detail);
    fact.evidence = shown_by.hash();
    facts_.push_back(std::move(fact));
  }

  const Relation& relation_;
  const RunRequest& base_;
  bool is_eager_;
  const std::string& rung_;
  const OpTable& table_;
  const Ask& ask_;
  std::vector<Fact>& facts_;
};

}  // namespace

std::vector<Twins> twins_of(const Relation& relation, const Related& related) {
  std::vector<Twins> twins = relation.twins(related);
  for (Twins& t : twins) {
    verify(t.one, related.table);
    verify(t.other, related.table);
  }
  return twins;
}

std::vector<Fact> relation_facts(const RunRequest& base, bool is_eager,
                                 const std::vector<std::string>& chosen, bool bits_only,
                                 const std::string& rung, const OpTable& table, const Ask& ask) {
  std::vector<Fact> facts;
  if (!system_kind(base.system.name).has_values) return facts;
  // A program that jumps at ties, or is in float64 already, has no spread to be held against.
  const bool spreads = !bits_only && !is_discontinuous(base.test, table) &&
                       narrowest_floating(base.test) != DType::kFloat64;
  for (const std::string& name : chosen) {
    const Relation* relation = find_relation(name);
    if (relation == nullptr || relation->twins == nullptr) continue;
    Relating relating(*relation, base, is_eager, rung, table, ask, facts);
    for (const Twins& t : twins_of(*relation, {base.test, base.system, is_eager, table})) {
      if (t.correspond == Correspondence::kBits) {
        relating.bits(t);
      } else if (spreads) {
        relating.spread(t);
      }
    }
  }
  return facts;
}

}  // namespace ulpfuzz
