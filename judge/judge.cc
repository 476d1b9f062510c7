#include "judge/judge.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "judge/assess.h"
#include "judge/claims.h"
#include "judge/ladder.h"
#include "judge/model.h"
#include "judge/relation.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

const SystemSpec kEager{"eager@py", {}, ""};

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

bool attends(const Case& c) {
  return std::any_of(c.program.nodes.begin(), c.program.nodes.end(), [](const Node& node) {
    return node.op == "aten.scaled_dot_product_attention.default";
  });
}

// Where many input sets are looked at, each needs fewer legal executions.
int legal_runs(int seeds) {
  return std::clamp(4 * model::kLegalRuns / std::max(1, seeds), 4, model::kLegalRuns);
}

// The runs that exist, by the hash of what was asked.
class Runs {
 public:
  explicit Runs(const std::vector<Evidence>& evidence) {
    for (const Evidence& e : evidence) by_hash_.emplace(e.request.hash(), &e.run);
  }
  const Run* find(const std::string& hash) const {
    const auto it = by_hash_.find(hash);
    return it == by_hash_.end() ? nullptr : it->second;
  }

 private:
  std::map<std::string, const Run*> by_hash_;
};

// One walk over everything that a verdict needs. Where a run is missing it is asked for and the
// walk goes on as far as it can.
class Walk {
 public:
  Walk(std::function<Rungs&(const SystemSpec&)> rungs_of, const JudgeOptions& options,
       const std::vector<Evidence>& evidence)
      : options_(options), runs_(evidence), rungs_of_(std::move(rungs_of)) {}

  Judge::Step step() {
    Judge::Step result;
    std::vector<Verdict> verdicts;
    std::vector<SystemSpec> eagers{kEager};
    for (const SystemSpec& system : options_.systems) {
      const SystemSpec beside = eager_beside(system);
      if (std::ranges::find(eagers, beside) == eagers.end()) eagers.push_back(beside);
    }
    for (const SystemSpec& eager : eagers) verdicts.push_back(judge_system(eager, true));
    for (const SystemSpec& system : options_.systems) {
      if (std::ranges::find(eagers, system) != eagers.end()) continue;
      verdicts.push_back(judge_system(system, false));
    }
    result.requests = std::move(wanted_);
    if (result.requests.empty()) result.verdicts = std::move(verdicts);
    return result;
  }

 private:
  // Input sets of the first look, and those that confirm what it suspects.
  std::vector<std::uint64_t> first_sets() const { return sets(0, std::max(1, options_.seeds)); }
  // The fresh sets of a round of asking. Those of the first round ride along with the first look.
  std::vector<std::uint64_t> fresh_sets(std::size_t round) const {
    if (!options_.confirm) return {};
    const int before = round == 0 ? 0 : model::kFreshSets.at(round - 1);
    return sets(std::max(1, options_.seeds) + before, model::kFreshSets.at(round) - before);
  }
  static std::vector<std::uint64_t> sets(int first, int count) {
    std::vector<std::uint64_t> result;
    for (int i = first; i < first + count; ++i) result.push_back(static_cast<std::uint64_t>(i));
    return result;
  }

  // Everything that may be looked at, in one run: compiling costs a second, executing a
  // millisecond. The first set comes twice, to see whether a system repeats itself.
  std::vector<std::uint64_t> all_sets() const {
    std::vector<std::uint64_t> result = first_sets();
    result.push_back(result.front());
    // A capture is held against its module on two sets.
    const bool module = rungs_of_(kEager).base().test.module.has_value();
    if (module && options_.seeds < 2 && !options_.confirm) result.push_back(1);
    for (const std::uint64_t salt : fresh_sets(0)) result.push_back(salt);
    return result;
  }

  bool attests(const Rung& rung) const { return options_.profile && attends(rung.test); }

  // The run of a system on a rung, or null after asking for it.
  const Run* ask(const SystemSpec& system, const Rung& rung, std::string* hash = nullptr) {
    return ask(system, rung.test, hash);
  }
  const Run* ask(const SystemSpec& system, const Case& test, std::string* hash) {
    return ask({test, system, all_sets(), options_.profile && attends(test)}, hash);
  }
  const Run* ask(RunRequest request, std::string* hash = nullptr) {
    const std::string key = request.hash();
    if (hash != nullptr) *hash = key;
    if (const Run* run = runs_.find(key)) return run;
    if (asked_.insert(key).second) wanted_.push_back(std::move(request));
    return nullptr;
  }

  // The assessment of a system on a rung, or nothing while runs are missing.
  std::optional<Assessment> first_look(const SystemSpec& system, Rung& rung) {
    std::string hash;
    const SystemSpec neighbour = eager_beside(system);
    const Run* eager = ask(neighbour, rung);
    const Run* run = ask(system, rung, &hash);
    if (eager == nullptr || run == nullptr) return std::nullopt;
    Assessment a = assess(*run, *eager, system == neighbour, first_sets(), freedom_of(system),
                          rung.label, rung.reference, options_.values);
    if (attests(rung) && run->completed() && eager->completed()) {
      const auto accepting = accepting_kernels(*run, neighbour, rung);
      if (!accepting) return std::nullopt;
      kernel_facts(*run, *eager, system == neighbour, rung.test, *accepting, rung.label, a.facts);
    }
    if (attests(rung) && system != neighbour) a.kernels = kernel_rows(*run, *eager);
    for (Fact& fact : a.facts) fact.evidence = hash;
    return a;
  }

  // What the fresh sets of a round say of the tensors.
  std::optional<Assessment> fresh_look(const SystemSpec& system, Rung& rung, std::size_t round,
                                       const std::vector<std::string>& tensors,
                                       std::string& evidence) {
    const SystemSpec neighbour = eager_beside(system);
    const std::vector<std::uint64_t> fresh = fresh_sets(round);
    const auto run_of = [&](const SystemSpec& of) {
      return round == 0 ? ask(of, rung, &evidence) : ask({rung.test, of, fresh}, &evidence);
    };
    const Run* eager = run_of(neighbour);
    const Run* run = run_of(system);
    if (eager == nullptr || run == nullptr) return std::nullopt;
    return assess(*run, *eager, system == neighbour, fresh, freedom_of(system), rung.label,
                  rung.reference, options_.values, tensors);
  }

  // Those of the kernels that the run passed over which take the program: eager runs it with
  // nothing else in the list. Nothing while such runs are missing.
  std::optional<std::vector<SdpaKernel>> accepting_kernels(const Run& run, const SystemSpec& eager,
                                                           const Rung& rung) {
    std::vector<SdpaKernel> accepting;
    bool missing = false;
    for (const SdpaKernel kernel : passed_over(run, rung.test)) {
      RunRequest request{rung.test, eager, {0}, true};
      request.test.environment.sdpa = SdpaChoice{{kernel}, false};
      request.test.environment.primed_by.reset();
      const Run* alone = ask(std::move(request));
      missing |= alone == nullptr;
      if (alone == nullptr || !alone->completed()) continue;
      if (attention_kernels(*alone) == std::vector{kernel}) accepting.push_back(kernel);
    }
    if (missing) return std::nullopt;
    return accepting;
  }

  // Facts of a captured program that is not its module, by eager's runs of both, or nothing while
  // runs are missing.
  std::optional<std::vector<Fact>> capture_facts_of(const SystemSpec& eager, const Rung& rung) {
    std::vector<Fact> facts;
    if (!rung.test.module) return facts;
    Case captured = rung.test;
    captured.module.reset();
    std::string hash;
    const Run* module = ask(eager, rung, &hash);
    const Run* program = ask(eager, captured, nullptr);
    if (module == nullptr || program == nullptr) return std::nullopt;
    capture_facts(*module, *program, rung.label, facts);
    for (Fact& fact : facts) fact.evidence = hash;
    return facts;
  }

  // Beside a capture that is not the module no number means anything: eager's verdict says so, of
  // others only how they ended counts.
  static void only_events(Verdict& verdict, const std::string& rung) {
    std::erase_if(verdict.facts,
                  [](const Fact& fact) { return fact.kind > VerdictKind::kAcceptReject; });
    verdict.measures.clear();
    Fact fact;
    fact.kind = VerdictKind::kUndecided;
    fact.rung = rung;
    fact.strength = "observed";
    fact.detail = "the captured program is not the module";
    verdict.facts.push_back(std::move(fact));
  }

  Verdict judge_system(const SystemSpec& system, bool is_eager) {
    Verdict verdict;
    verdict.system = to_string(system);
    verdict.judge_model = Judge::model_hash();
    Rungs& rungs = rungs_of_(system);
    Rung& base = rungs.base();
    const SystemSpec eager = eager_beside(system);
    if (options_.ladder == JudgeOptions::Ladder::kAlways && !is_eager && may_climb(base)) {
      ask(system, rungs.float32());
      ask(eager, rungs.float32());
      capture_facts_of(eager, rungs.float32());  // asks, too
    }
    const std::optional<std::vector<Fact>> capture = capture_facts_of(eager, base);
    const std::optional<Assessment> first = first_look(system, base);
    if (!first || !capture) return verdict;
    if (!capture->empty()) {
      verdict.facts = is_eager ? *capture : first->facts;
      if (!is_eager) only_events(verdict, base.label);
      verdict.primary = primary(verdict.facts);
      return verdict;
    }
    verdict.facts = first->facts;
    verdict.measures = first->measures;
    verdict.kernels = first->kernels;
    // Eager is looked at on the ladder only beside a system that needs it.
    if (climbs(base, *first) && !is_eager) {
      const std::optional<std::vector<Fact>> captured = capture_facts_of(eager, rungs.float32());
      const std::optional<Assessment> above = first_look(system, rungs.float32());
      // A module of another dtype that is not the raised program says nothing.
      if (above && captured && captured->empty()) {
        verdict.facts.insert(verdict.facts.end(), above->facts.begin(), above->facts.end());
        verdict.measures.insert(verdict.measures.end(), above->measures.begin(),
                                above->measures.end());
        claim(system, rungs.float32(), true, *above, verdict);
      }
    }
    claim(system, base, false, *first, verdict);
    relate(system, is_eager, rungs, options_.values && first->compared, verdict);
    if (options_.values && !first->compared && verdict.facts.empty()) {
      Fact fact;
      fact.kind = VerdictKind::kUndecided;
      fact.rung = base.label;
      fact.strength = "observed";
      fact.detail = "no element could be held against an exact value";
      verdict.facts.push_back(std::move(fact));
    }
    verdict.primary = primary(verdict.facts);
    return verdict;
  }

  // Relations to other runs, which need no exact value. Nothing is said while those are missing.
  void relate(const SystemSpec& system, bool is_eager, Rungs& rungs, bool compared,
              Verdict& verdict) {
    const Rung& base = rungs.base();
    const RunRequest request{base.test, system, all_sets(), attests(base)};
    const std::vector<Fact> facts =
        relation_facts(request, is_eager, options_.relations, compared, base.label, rungs.table(),
                       [this](RunRequest wanted) { return ask(std::move(wanted)); });
    verdict.facts.insert(verdict.facts.end(), facts.begin(), facts.end());
  }

  // What statistics say of a system on a rung: the first look chooses suspects, fresh input sets
  // decide, more of them as long as they may. `above`: not the rung of the case as it came.
  void claim(const SystemSpec& system, Rung& rung, bool above, const Assessment& first,
             Verdict& verdict) {
    // Of what is proved beyond that nothing needs to be claimed.
    if (!options_.confirm || primary(verdict.facts) <= VerdictKind::kWrong) return;
    std::vector<ClaimTest> tests;
    for (const VerdictKind kind : {VerdictKind::kWrong, VerdictKind::kLessAccurate}) {
      if (kind == VerdictKind::kWrong && is_half(parse_dtype(rung.label).value())) continue;
      ClaimTest test(kind, rung.label, first.observed);
      if (test.begun()) tests.push_back(std::move(test));
    }
    if (tests.empty()) return;
    const std::vector<std::string> tensors = tests.back().tensors();
    Assessment fresh;
    std::string evidence;
    const auto no_longer_begun = [](const ClaimTest& test) { return !test.begun(); };
    for (std::size_t round = 0; round < model::kFreshSets.size(); ++round) {
      const auto more = fresh_look(system, rung, round, tensors, evidence);
      if (!more) return;
      for (const std::string& tensor : tensors) {
        if (round > 0 || varies(rung, tensor)) continue;
        for (ClaimTest& test : tests) test.leave_out(tensor);
      }
      std::erase_if(tests, no_longer_begun);
      merge(fresh.observed, more->observed);
      merge(fresh.eager_observed, more->eager_observed);
      const bool open = std::ranges::any_of(tests, [&](const ClaimTest& test) {
        return ClaimTest::open(test.weigh(fresh.observed));
      });
      if (more->observed.empty() || !open) break;
    }
    for (const ClaimTest& test : tests) {
      ++verdict.tests;
      std::vector<Fact> facts =
          claims(test, fresh.observed, fresh.eager_observed, rung.label, above);
      for (Fact& fact : facts) {
        fact.evidence = evidence;
        verdict.facts.push_back(std::move(fact));
      }
    }
  }

  // Do the exact values of a tensor depend on the input set? Literals do not, and then each further
  // set is the first one again.
  bool varies(Rung& rung, const std::string& tensor) const {
    const ExactTensor* first = rung.reference.exact(first_sets().front()).find(tensor);
    return std::ranges::any_of(fresh_sets(0), [&](std::uint64_t salt) {
      const ExactTensor* fresh = rung.reference.exact(salt).find(tensor);
      return first != nullptr && fresh != nullptr && fresh->values != first->values;
    });
  }

  bool may_climb(const Rung& base) const {
    return options_.values && options_.ladder != JudgeOptions::Ladder::kNone &&
           is_half(parse_dtype(base.label).value_or(DType::kFloat32));
  }
  bool climbs(const Rung& base, const Assessment& first) const {
    if (!may_climb(base) || !first.compared) return false;
    return options_.ladder == JudgeOptions::Ladder::kAlways || first.doubtful;
  }

  const JudgeOptions& options_;
  Runs runs_;
  std::function<Rungs&(const SystemSpec&)> rungs_of_;
  std::vector<RunRequest> wanted_;
  std::set<std::string> asked_;
};

}  // namespace

SystemSpec eager_beside(const SystemSpec& system) {
  SystemSpec eager = kEager;
  eager.environment = system.environment;
  return eager;
}

Judge::Judge(const Case& lowered, JudgeOptions options, const OpTable& table)
    : options_(std::move(options)),
      ladder_(std::make_shared<Ladder>(lowered, table, legal_runs(options_.seeds))) {}

Judge::Step Judge::next(const std::vector<Evidence>& evidence) const {
  const auto rungs_of = [this](const SystemSpec& system) -> Rungs& { return ladder_->of(system); };
  return Walk(rungs_of, options_, evidence).step();
}

}  // namespace ulpfuzz
