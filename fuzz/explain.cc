#include "fuzz/explain.h"

#include <algorithm>
#include <string>

#include "fuzz/investigate.h"
#include "generators/family.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

struct Candidate {
  Variation variation;
  Case test;
};

class Candidates {
 public:
  explicit Candidates(const Case& c) : case_(c) {}

  std::vector<Candidate> take() && {
    if (case_.model) configuration();
    circumstances();
    return std::move(all_);
  }

 private:
  void add(std::string what, std::string change, Case test) {
    try {
      all_.push_back({{std::move(what), std::move(change), false, ""}, lower(test)});
    } catch (const Error&) {
      // the other fields do not allow it
    }
  }

  void configuration() {
    for (const ConfigField& field : family(case_.model->family).fields) {
      const std::string name(field.name);
      const auto given = case_.model->fields.find(name);
      if (given == case_.model->fields.end()) continue;
      if (const bool* on = std::get_if<bool>(&given->second)) {
        set(field, *on ? "on -> off" : "off -> on", !*on);
      }
      if (name != "dtype") continue;
      for (const char* dtype : {"float32", "bfloat16", "float16"}) {
        const std::string own = std::get<std::string>(given->second);
        if (own != dtype) set(field, own + " -> " + dtype, std::string(dtype));
      }
    }
  }

  template <class Value>
  void set(const ConfigField& field, std::string change, Value value) {
    Case test;
    test.model = case_.model;
    test.model->fields[std::string(field.name)] = value;
    test.environment = case_.environment;
    add(std::string(field.name) + ": " + std::string(field.meaning), std::move(change),
        std::move(test));
  }

  void circumstances() {
    const auto with = [&](const char* what, std::string change, auto edit) {
      Case test = case_;
      edit(test.environment);
      add(what, std::move(change), std::move(test));
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

  const Case& case_;
  std::vector<Candidate> all_;
};

}  // namespace

std::vector<Variation> explain(const Case& c, const Signature& wanted, const JudgeOptions& options,
                               const OpTable& table, Scheduler& scheduler) {
  std::vector<Candidate> candidates = Candidates(c).take();
  std::vector<Case> cases;
  for (const Candidate& candidate : candidates) cases.push_back(candidate.test);
  JudgeOptions one = options;
  one.systems = {parse_system(wanted.system)};
  const std::vector<Judged> judged = judge_cases(cases, one, table, scheduler, Company::kSingle);
  std::vector<Variation> result;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& verdicts = judged[i].verdicts;
    const auto found =
        std::ranges::find_if(verdicts, [&](const Verdict& v) { return v.system == wanted.system; });
    const bool eager_ran = std::ranges::any_of(judged[i].evidence, [](const Evidence& e) {
      return e.request.system.name == "eager@py" && e.run.completed();
    });
    if (found == verdicts.end() || !eager_ran) continue;
    Variation variation = candidates[i].variation;
    variation.fails = signature(*found) == wanted;
    variation.verdict = std::string(name(found->primary));
    result.push_back(std::move(variation));
  }
  return result;
}

}  // namespace ulpfuzz
