#include "fuzz/investigate.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "fuzz/sightings.h"
#include "generators/family.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "judge/relation.h"
#include "judge/rung.h"
#include "report/reportable.h"
#include "systems/capture.h"
#include "systems/environments.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

constexpr int kMostRounds = 12;  // of requests, before the judge must have decided

const Verdict* verdict_of(const std::vector<Verdict>& verdicts, const std::string& system) {
  const auto it = std::find_if(verdicts.begin(), verdicts.end(),
                               [&](const Verdict& v) { return v.system == system; });
  return it == verdicts.end() ? nullptr : &*it;
}

// The run of a system on exactly this case, among the evidence.
const Run* run_of(const Judged& judged, const Case& c, const std::string& system) {
  for (const Evidence& e : judged.evidence) {
    if (to_string(e.request.system) == system && e.request.test == c) return &e.run;
  }
  return nullptr;
}

const Fact& leading(const Verdict& verdict) {
  static const Fact kNone;
  const auto it = std::ranges::find(verdict.facts, verdict.primary, &Fact::kind);
  return it == verdict.facts.end() ? kNone : *it;
}

// The case on the rung of the ladder where the verdict was reached, so that reduction needs no
// ladder. A model or module keeps its configuration, whose dtype is what the rung changes.
Case case_on_rung(const Case& c, const Verdict& verdict, const OpTable& table, Scheduler& scheduler,
                  const std::string& capture_fault) {
  const std::string_view own = name(narrowest_floating(c));
  std::optional<DType> rung;
  for (const Fact& fact : verdict.facts) {
    if (fact.kind != verdict.primary) continue;
    if (fact.rung == own) return c;
    rung = parse_dtype(fact.rung);
  }
  if (!rung) return c;
  if (c.module) {
    Case module;
    module.module = c.module;
    module.module->dtype = std::string(name(*rung));
    module.environment = c.environment;
    return capture(module, scheduler, capture_fault);
  }
  if (c.model && c.model->fields.contains("dtype")) {
    Case model;
    model.model = c.model;
    model.model->fields["dtype"] = std::string(name(*rung));
    model.environment = c.environment;
    return lower(model);
  }
  return at_rung(c, *rung, table);
}

std::string finding_id(const Signature& signature, const Case& minimal) {
  return sha256_hex(to_string(signature) + hashes(minimal).program).substr(0, 12);
}

std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < version.size() && std::isdigit(version[at]) != 0;) {
    std::size_t used = 0;
    numbers.push_back(std::stoi(version.substr(at), &used));
    at += used;
    if (at < version.size() && version[at] == '.') ++at;
  }
  return numbers;
}

// The minimal case at a second instruction set, and in every newer release that is installed.
void look_again(Finding& finding, const JudgeOptions& options, const OpTable& table,
                Scheduler& scheduler) {
  const auto look = [&](const Case& c, SystemSpec system, SecondLook::Of of, std::string where) {
    JudgeOptions there = options;
    there.systems = {system};
    const auto verdicts = judge_cases({c}, there, table, scheduler, Company::kStock)[0].verdicts;
    const Verdict* found = verdict_of(verdicts, to_string(system));
    if (found == nullptr) return;
    Signature wanted = finding.signature;
    wanted.system = found->system;
    finding.looks.push_back(
        {of, std::move(where), signature(*found) == wanted, std::string(name(found->primary))});
  };
  const SystemSpec system = parse_system(finding.signature.system);
  Case other = finding.minimal;
  other.environment.isa = other.environment.isa == "native" ? "avx2" : "native";
  if (other.environment.device == "cpu") {
    look(other, system, SecondLook::Of::kIsa, other.environment.isa);
  }
  const auto own = finding.system_run.versions.find("torch");
  if (own == finding.system_run.versions.end() || system_kind(system.name).worker != "python") {
    return;
  }
  for (const InstalledEnvironment& e : installed_environments(environments_folder())) {
    if (numbers_of(e.torch) <= numbers_of(own->second)) continue;
    SystemSpec newer = system;
    newer.environment = e.name;
    try {
      look(finding.minimal, newer, SecondLook::Of::kRelease, "torch " + e.torch);
    } catch (const NotAvailable&) {
      // this system is not installed there
    }
  }
}

}  // namespace

JudgeOptions options_for(const Verdict& verdict, const JudgeOptions& options) {
  JudgeOptions one = options;
  one.systems = {parse_system(verdict.system)};
  one.ladder = JudgeOptions::Ladder::kNone;  // see case_on_rung
  // Claims of statistics need fresh input sets (judge/claims.h).
  one.confirm = std::ranges::all_of(verdict.facts, [&](const Fact& fact) {
    return fact.kind != verdict.primary || fact.strength == "statistical";
  });
  one.relations.clear();
  if (const Relation* broken = relation_of(leading(verdict))) {
    one.relations = {std::string(broken->name)};
    one.values = false;  // two runs show it, whatever exact values say
  }
  one.profile = verdict.primary == VerdictKind::kKernelMismatch ||
                verdict.primary == VerdictKind::kStrideAssert;
  return one;
}

std::vector<Judged> judge_cases(const std::vector<Case>& lowered, const JudgeOptions& options,
                                const OpTable& table, Scheduler& scheduler, Company company) {
  return judge_cases(lowered, std::vector(lowered.size(), options), table, scheduler, company);
}

std::vector<Judged> judge_cases(const std::vector<Case>& lowered,
                                const std::vector<JudgeOptions>& options, const OpTable& table,
                                Scheduler& scheduler, Company company) {
  std::vector<Judged> results(lowered.size());
  std::vector<Judge> judges;
  judges.reserve(lowered.size());
  for (std::size_t i = 0; i < lowered.size(); ++i) {
    judges.emplace_back(lowered[i], options.at(i), table);
  }
  std::vector<std::size_t> open(lowered.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;

  for (int round = 0; round < kMostRounds && !open.empty(); ++round) {
    std::vector<RunRequest> requests;
    std::vector<std::size_t> owner;
    std::vector<std::size_t> waiting;
    for (const std::size_t i : open) {
      Judge::Step step;
      try {
        step = judges[i].next(results[i].evidence);
      } catch (const Error&) {
        continue;  // does not verify: no verdicts
      }
      if (step.requests.empty()) {
        results[i].verdicts = std::move(step.verdicts);
        continue;
      }
      waiting.push_back(i);
      for (RunRequest& request : step.requests) {
        requests.push_back(std::move(request));
        owner.push_back(i);
      }
    }
    std::vector<Run> runs = scheduler.run(requests, company);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      results[owner[r]].evidence.push_back({std::move(requests[r]), std::move(runs[r])});
    }
    open = std::move(waiting);
  }
  return results;
}

namespace {

// What the answers of a reduction depend on. `versions`: of the packages that run it.
std::string state_key(const Case& start, const Signature& wanted, const std::string& versions,
                      Company company) {
  return sha256_hex(to_string(wanted) + hashes(start).whole + Judge::model_hash() + versions +
                    (company == Company::kStock ? "stock" : ""));
}

std::string versions_of(const std::string& system, Scheduler& scheduler) {
  std::string text;
  for (const auto& [package, version] : scheduler.info(parse_system(system)).versions) {
    text += package + ' ' + version + '\n';
  }
  return text;
}

ReductionOptions reduction_options(const InvestigateOptions& how, Scheduler& scheduler,
                                   const std::string& key) {
  ReductionOptions reduction;
  const double before = scheduler.usage().system_cpu_seconds;
  reduction.go_on = [&how, &scheduler, before](const ReductionProgress& progress) {
    if (how.progress) how.progress(progress);
    const double spent = scheduler.usage().system_cpu_seconds - before;
    return spent < how.cpu_budget_seconds && !(how.stopped && how.stopped());
  };
  reduction.capture = [&how, &scheduler](const Case& candidate) -> std::optional<Case> {
    try {
      return capture(candidate, scheduler, how.capture_fault);
    } catch (const NotAvailable&) {
      throw;
    } catch (const Error&) {
      return std::nullopt;  // the library refuses it
    }
  };
  if (how.state.empty()) return reduction;
  reduction.from = read_state(how.state, key);
  reduction.save = [&how, key](const ReductionState& state) { write_state(how.state, state, key); };
  return reduction;
}

// A reduced case, and what was seen of it on a run as a user's.
struct Shown {
  ReducedCase reduced;
  Judged judged;
};

// Reduces `start` in the company that `sightings` found cheapest. What is left may be seen in
// company of other programs only: then from the smallest case on the way there that is seen on a
// run as a user's, with candidates that run so. nullopt: no case on the way is seen so.
std::optional<Shown> reduce_as_seen(const Case& start, const Signature& wanted,
                                    Sightings& sightings, const OpTable& table,
                                    Scheduler& scheduler, const InvestigateOptions& how) {
  const StillFails still_fails = [&](std::span<const Case> cases) {
    return sightings.answer(cases);
  };
  const std::string versions = how.state.empty() ? "" : versions_of(wanted.system, scheduler);
  const auto descend = [&](const Case& from) {
    const std::string key = state_key(start, wanted, versions, sightings.company());
    return reduce(from, table, still_fails, reduction_options(how, scheduler, key));
  };
  const std::string stock = state_key(start, wanted, versions, Company::kStock);
  if (!how.state.empty() && read_state(how.state, stock)) sightings.insist_on_stock();
  ReducedCase reduced = descend(start);
  if (auto judged = sightings.confirm(reduced.smallest)) return Shown{reduced, *judged};
  if (sightings.company() == Company::kStock) return std::nullopt;

  reduced.accepted.insert(reduced.accepted.begin(), start);
  const auto seen = std::find_if(reduced.accepted.rbegin(), reduced.accepted.rend(),
                                 [&](const Case& c) { return sightings.confirm(c).has_value(); });
  if (seen == reduced.accepted.rend()) return std::nullopt;
  sightings.insist_on_stock();
  ReducedCase alone = descend(*seen);
  alone.steps += static_cast<int>(reduced.accepted.rend() - seen) - 1;
  alone.tried += reduced.tried;
  auto judged = sightings.confirm(alone.smallest);
  if (!judged) return std::nullopt;
  return Shown{std::move(alone), std::move(*judged)};
}

// The finding without the options of its system that it does not need.
void drop_options(Finding& finding, JudgeOptions options, const OpTable& table,
                  Scheduler& scheduler) {
  const auto given = parse_system(finding.signature.system).options;
  for (const auto& [option, value] : given) {
    if (option == "fault") continue;
    SystemSpec fewer = parse_system(finding.signature.system);
    fewer.options.erase(option);
    Signature wanted = finding.signature;
    wanted.system = to_string(fewer);
    options.systems = {fewer};
    Sightings sightings(wanted, options, table, scheduler);
    const Judged judged = sightings.look(finding.minimal, Company::kStock);
    if (!sightings.shown(judged)) continue;
    finding.signature = wanted;
    finding.verdict = *verdict_of(judged.verdicts, wanted.system);
    if (const Run* run = run_of(judged, finding.minimal, wanted.system)) finding.system_run = *run;
  }
}

}  // namespace

std::optional<Finding> investigate(const Case& shown_by, const Verdict& verdict,
                                   const JudgeOptions& options, const OpTable& table,
                                   Scheduler& scheduler, const InvestigateOptions& how) {
  const Signature wanted = signature(verdict);
  const JudgeOptions one = options_for(verdict, options);
  const SystemSpec system = parse_system(verdict.system);
  const Case start =
      asked_of(system, case_on_rung(shown_by, verdict, table, scheduler, how.capture_fault));

  // With the input sets of `options`, so that the run that first showed it answers.
  JudgeOptions same_sets = one;
  same_sets.confirm = options.confirm;
  Sightings sightings(wanted, one, table, scheduler);
  const Sightings::Count count = sightings.begin(start, same_sets);
  if (how.begun) how.begun({count.seen, count.looks});
  if (count.lost()) return std::nullopt;

  const auto shown = reduce_as_seen(start, wanted, sightings, table, scheduler, how);
  if (!shown) return std::nullopt;
  Finding finding;
  finding.signature = wanted;
  finding.original = shown_by;
  finding.reduced = shown->reduced.complete;
  finding.steps = shown->reduced.steps;
  finding.tried = shown->reduced.tried;
  finding.minimal = shown->reduced.smallest;
  const Judged* last = &shown->judged;
  if (how.certify && finding.reduced) {
    const StillFails still_fails = [&](std::span<const Case> cases) {
      return sightings.answer(cases);
    };
    finding.single_steps =
        count_steps(finding.minimal, table, still_fails, reduction_options(how, scheduler, ""));
  }
  finding.id = finding_id(wanted, finding.minimal);
  finding.verdict = *verdict_of(last->verdicts, verdict.system);
  const std::string eager = to_string(eager_beside(system));
  finding.eager = *verdict_of(last->verdicts, eager);
  if (const Run* run = run_of(*last, finding.minimal, verdict.system)) finding.system_run = *run;
  if (const Run* run = run_of(*last, finding.minimal, eager)) finding.eager_run = *run;
  drop_options(finding, one, table, scheduler);
  try {
    finding.exact = Oracle(table).exact(finding.minimal);
  } catch (const Error&) {
    // a program without exact values can still be a finding
  }
  if (how.look_again || (how.look_if_reportable && worth_a_second_look(finding, table))) {
    look_again(finding, one, table, scheduler);
  }
  return finding;
}

}  // namespace ulpfuzz
