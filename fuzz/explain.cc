#include "fuzz/explain.h"

#include <algorithm>
#include <set>
#include <string>

#include "fuzz/investigate.h"
#include "ir/error.h"
#include "reducers/dimensions.h"
#include "systems/capture.h"

namespace ulpfuzz {
namespace {

constexpr int kMostRounds = 12;  // of probes

struct Candidate {
  Variation variation;
  std::string dimension;  // of `value`; "": of the environment
  ConfigValue value;
  Case test;
};

std::string last_word(const std::string& name) { return name.substr(name.rfind('_') + 1); }

class Explainer {
 public:
  Explainer(const Case& c, const Signature& wanted, const JudgeOptions& options,
            const OpTable& table, Scheduler& scheduler, const ExplainOptions& how)
      : case_(c),
        wanted_(wanted),
        options_(options),
        table_(table),
        scheduler_(scheduler),
        how_(how),
        own_(dimensions(c)) {
    options_.systems = {parse_system(wanted.system)};
    seen_.push_back({own_, true});
  }

  Explanation run() {
    std::vector<Candidate> candidates;
    circumstances(candidates);
    switches(candidates);
    for (int round = 0; round < kMostRounds; ++round) {
      numbers(candidates);
      if (candidates.empty()) break;
      judge(candidates);
      candidates.clear();
      if (how_.stopped && how_.stopped()) break;
    }
    seen_.erase(seen_.begin());  // the case itself is no probe
    result_.conditions = fit_conditions(own_, seen_);
    return std::move(result_);
  }

 private:
  void circumstances(std::vector<Candidate>& out) {
    const auto with = [&](const char* what, std::string change, auto edit) {
      Candidate candidate{{what, std::move(change), false, ""}, "", false, case_};
      edit(candidate.test.environment);
      out.push_back(std::move(candidate));
    };
    const Environment& own = case_.environment;
    with("dynamic shapes", own.dynamic ? "on -> off" : "off -> on",
         [](Environment& e) { e.dynamic = !e.dynamic; });
    with("threads", std::to_string(own.threads) + " -> " + (own.threads == 1 ? "2" : "1"),
         [](Environment& e) { e.threads = e.threads == 1 ? 2 : 1; });
    if (!own.sdpa) return;
    with("choice of attention kernels", "removed", [](Environment& e) { e.sdpa.reset(); });
    with("set_priority", own.sdpa->set_priority ? "on -> off" : "off -> on",
         [](Environment& e) { e.sdpa->set_priority = !e.sdpa->set_priority; });
    if (own.sdpa->kernels.size() < 2) return;
    for (const SdpaKernel kernel : own.sdpa->kernels) {
      with("attention kernels", "only " + std::string(name(kernel)),
           [&](Environment& e) { e.sdpa->kernels = {kernel}; });
    }
  }

  // Fields that are on or off, and dtypes.
  void switches(std::vector<Candidate>& out) {
    for (const auto& [name, value] : own_) {
      if (const bool* on = std::get_if<bool>(&value)) {
        add(name, !*on, *on ? "on -> off" : "off -> on", out);
      }
      const auto* text = std::get_if<std::string>(&value);
      if (name != "dtype" || text == nullptr) continue;
      for (const char* dtype : {"float32", "bfloat16", "float16"}) {
        if (*text != dtype) add(name, std::string(dtype), *text + " -> " + dtype, out);
      }
    }
  }

  // Numbers, as far as what was seen asks for more of them.
  void numbers(std::vector<Candidate>& out) {
    for (const auto& [name, value] : own_) {
      std::vector<ConfigValue> probes = next_probes(name, own_, seen_, least_value(case_, name));
      if (asked_.insert(name).second) {  // as many of this as there are of that
        for (const auto& [other, same] : own_) {
          const bool kin = other != name && last_word(other) == last_word(name);
          if (kin && same != value && same.index() == value.index()) probes.push_back(same);
        }
      }
      if (!std::holds_alternative<std::int64_t>(value)) continue;
      for (const ConfigValue& probe : probes) {
        if (!asked_.insert(name + "=" + to_text(probe)).second) continue;
        add(name, probe, to_text(value) + " -> " + to_text(probe), out);
      }
    }
  }

  void add(const std::string& name, const ConfigValue& value, std::string change,
           std::vector<Candidate>& out) {
    std::optional<Case> test = with_dimension(case_, name, value, table_);
    if (!test) return;
    try {
      if (!is_lowered(*test)) test = capture(*test, scheduler_, how_.capture_fault);
    } catch (const NotAvailable&) {
      throw;
    } catch (const Error&) {
      return;  // the library refuses it
    }
    out.push_back({{name, std::move(change), false, ""}, name, value, std::move(*test)});
  }

  void judge(std::vector<Candidate>& candidates) {
    const int left = std::max(0, how_.most_cases - result_.cases);
    if (candidates.size() > static_cast<std::size_t>(left)) {
      candidates.erase(candidates.begin() + left, candidates.end());
    }
    result_.cases += static_cast<int>(candidates.size());
    std::vector<Case> cases;
    for (const Candidate& candidate : candidates) cases.push_back(candidate.test);
    const bool event = wanted_.kind <= VerdictKind::kAcceptReject;
    const std::vector<Judged> judged = judge_cases(cases, options_, table_, scheduler_,
                                                   event ? Company::kSingle : Company::kPacked);
    for (std::size_t i = 0; i < candidates.size(); ++i) note(candidates[i], judged[i]);
  }

  void note(Candidate& candidate, const Judged& judged) {
    const auto found = std::ranges::find(judged.verdicts, wanted_.system, &Verdict::system);
    const std::string eager = to_string(eager_beside(parse_system(wanted_.system)));
    const bool eager_ran = std::ranges::any_of(judged.evidence, [&](const Evidence& e) {
      return to_string(e.request.system) == eager && e.run.completed();
    });
    if (found == judged.verdicts.end() || !eager_ran) return;
    Variation& variation = candidate.variation;
    variation.fails = signature(*found) == wanted_;
    variation.verdict = std::string(name(found->primary));
    if (!candidate.dimension.empty()) {
      Observation observation{own_, variation.fails};
      observation.values[candidate.dimension] = candidate.value;
      seen_.push_back(std::move(observation));
      // Numbers are told of by the conditions and the neighbours.
      if (std::holds_alternative<std::int64_t>(candidate.value)) return;
    }
    result_.variations.push_back(std::move(variation));
  }

  const Case& case_;
  const Signature& wanted_;
  JudgeOptions options_;
  const OpTable& table_;
  Scheduler& scheduler_;
  const ExplainOptions& how_;
  const OriginFields own_;
  std::vector<Observation> seen_;  // the case itself first
  std::set<std::string> asked_;
  Explanation result_;
};

}  // namespace

Explanation explain(const Case& c, const Signature& signature, const JudgeOptions& options,
                    const OpTable& table, Scheduler& scheduler, const ExplainOptions& how) {
  return Explainer(c, signature, options, table, scheduler, how).run();
}

}  // namespace ulpfuzz
