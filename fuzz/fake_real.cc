#include "fuzz/fake_real.h"

#include <algorithm>
#include <optional>
#include <set>

#include "fuzz/investigate.h"
#include "generators/generate.h"
#include "ir/error.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "judge/facts.h"

namespace ulpfuzz {
namespace {

const SystemSpec kReal{"eager@py", {}, ""};

Profile profile_of(const std::string& op) {
  Profile profile;
  profile.only = op;
  profile.min_nodes = profile.max_nodes = 1;
  profile.max_elements = 512;
  profile.large_share = 0;
  profile.backward_share = 0.75;
  profile.layout_share = 0.8;
  profile.dynamic_share = 0;
  return profile;
}

// Same processes for all: layouts do not depend on threads, and packs are the larger.
Case with_plain_environment(Case c) {
  Environment plain;
  plain.grad = c.environment.grad;
  c.environment = plain;
  return c;
}

bool is_needs_values(const Fact& fact) { return fact.detail.starts_with("needs values"); }

const Verdict* verdict_of(const Judged& judged, const SystemSpec& system) {
  const auto found = std::ranges::find(judged.verdicts, to_string(system), &Verdict::system);
  return found == judged.verdicts.end() ? nullptr : &*found;
}

// One operator at a time.
class Comparison {
 public:
  Comparison(const FakeRealOptions& options, const OpTable& table, Scheduler& scheduler)
      : options_(options), table_(table), scheduler_(scheduler) {}

  FakeRealSummary run() {
    for (const Op& op : table_.ops()) {
      if (op.name().find(options_.only) == std::string::npos) continue;
      if (options_.stopped && options_.stopped()) break;
      if (op.row->draw == nullptr || op.row->weight <= 0) {
        summary_.others.push_back(op.name());
        continue;
      }
      ++summary_.rows;
      say(op.name());
      for (Shown& shown : look(op.name())) follow_up(op.name(), std::move(shown));
    }
    return std::move(summary_);
  }

 private:
  // A sort of difference and the smallest case that shows it.
  struct Shown {
    std::string key;
    Case test;
    Verdict verdict;
    std::size_t size = 0;
    int seen = 0;
  };

  void say(const std::string& doing) const {
    if (options_.progress) options_.progress(doing);
  }

  std::vector<RunRequest> requests_of(const std::string& op) const {
    std::vector<RunRequest> requests;
    const Profile profile = profile_of(op);
    for (int i = 0; i < options_.cases; ++i) {
      Case c;
      try {
        c = generate_case(options_.seed, static_cast<std::uint64_t>(i), table_, profile);
      } catch (const Error&) {
        continue;  // this row's rule found nothing to draw
      }
      c = with_plain_environment(std::move(c));
      for (const SystemSpec& system : {kReal, options_.fake}) {
        requests.push_back({c, system, {0}, false});
      }
    }
    return requests;
  }

  std::vector<Shown> look(const std::string& op) {
    const std::vector<RunRequest> requests = requests_of(op);
    const std::vector<Run> runs = scheduler_.run(requests);
    std::vector<Shown> all;
    for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
      const Case& c = requests[i].test;
      ++summary_.cases;
      if (!runs[i].completed()) continue;
      ++summary_.valid;
      summary_.backward += c.environment.grad && !c.wrt.empty() ? 1 : 0;
      Verdict verdict;
      verdict.system = to_string(options_.fake);
      fake_facts(runs[i + 1], runs[i], "", verdict.facts);
      verdict.primary = primary(verdict.facts);
      if (std::ranges::any_of(verdict.facts, is_needs_values)) ++summary_.needs_values;
      if (is_finding(verdict.primary)) note(c, verdict, all);
    }
    return all;
  }

  static void note(const Case& c, const Verdict& verdict, std::vector<Shown>& all) {
    const bool gradient = verdict.facts.front().tensor.starts_with("gradient");
    const std::string key = signature(verdict).detail + (gradient ? " of a gradient" : "");
    const std::size_t size = to_json(c).size();
    const auto known = std::ranges::find(all, key, &Shown::key);
    if (known == all.end()) {
      all.push_back({key, c, verdict, size, 1});
      return;
    }
    ++known->seen;
    if (size < known->size) *known = {key, c, verdict, size, known->seen};
  }

  void follow_up(const std::string& op, Shown shown) {
    FakeDifference difference{
        .op = op, .sort = shown.key, .seen = shown.seen, .smallest = shown.test};
    difference.detail = shown.verdict.facts.front().detail;
    JudgeOptions judge;
    judge.systems = {options_.fake};
    judge.confirm = judge.profile = false;
    judge.ladder = JudgeOptions::Ladder::kNone;
    InvestigateOptions how;
    how.cpu_budget_seconds = options_.reduction_cpu_seconds;
    how.stopped = options_.stopped;
    say(op + ": reducing " + shown.key);
    for (const Judged& judged : judge_cases({shown.test}, judge, table_, scheduler_)) {
      const Verdict* found = verdict_of(judged, options_.fake);
      if (found == nullptr) continue;
      const std::optional<Finding> finding =
          investigate(shown.test, *found, judge, table_, scheduler_, how);
      if (!finding) continue;
      difference.smallest = finding->minimal;
      difference.reduced = finding->reduced;
      difference.detail = finding->verdict.facts.front().detail;
    }
    say(op + ": asking compilers");
    ask_compilers(difference);
    summary_.differences.push_back(std::move(difference));
  }

  void ask_compilers(FakeDifference& difference) {
    if (options_.compilers.empty()) return;
    std::vector<Case> cases{difference.smallest};
    try {
      cases.push_back(with_neighbours(difference.smallest, table_));
    } catch (const Error&) {
      // it has no place for neighbours
    }
    JudgeOptions judge;
    judge.systems = options_.compilers;
    judge.confirm = judge.profile = false;
    const std::vector<Judged> judged =
        judge_cases(cases, judge, table_, scheduler_, Company::kSingle);
    const auto kind = [&](std::size_t of, const SystemSpec& system) {
      const Verdict* found = of < judged.size() ? verdict_of(judged[of], system) : nullptr;
      return found == nullptr ? VerdictKind::kUndecided : found->primary;
    };
    for (const SystemSpec& system : options_.compilers) {
      difference.consequences.push_back({to_string(system), kind(0, system), kind(1, system)});
    }
  }

  const FakeRealOptions& options_;
  const OpTable& table_;
  Scheduler& scheduler_;
  FakeRealSummary summary_;
};

}  // namespace

std::string FakeDifference::effect() const {
  std::set<VerdictKind> kinds;
  for (const Consequence& c : consequences) kinds.insert({c.alone, c.among});
  std::string text;
  const auto add = [&](const char* words, std::initializer_list<VerdictKind> any) {
    if (std::ranges::none_of(any, [&](VerdictKind kind) { return kinds.contains(kind); })) return;
    text += (text.empty() ? "" : ", ") + std::string(words);
  };
  add("crash", {VerdictKind::kCrash, VerdictKind::kHang});
  add("silently wrong", {VerdictKind::kWrong, VerdictKind::kNanMismatch});
  add("stride-assert", {VerdictKind::kStrideAssert});
  add("raises", {VerdictKind::kCompileError, VerdictKind::kAcceptReject});
  add("other layout than eager's", {VerdictKind::kMetadata});
  return text.empty() ? "harmless" : text;
}

Case with_neighbours(const Case& lowered, const OpTable& table) {
  Case c = bind_symbols(lowered);
  Program& p = c.program;
  const Types types = verify(p, table);
  for (Ref& output : p.outputs) {
    if (is_complex(types.of(output).dtype)) {  // generated code has real numbers alone
      const std::string real = fresh_name(p, "real");
      p.nodes.push_back({real, "aten.view_as_real.default", {{"self", output}}});
      output = {real, 0};
    }
    const std::string name = fresh_name(p, "behind");
    p.nodes.push_back(
        {name, "aten.add.Tensor", {{"self", output}, {"other", Scalar{std::int64_t{1}}}}});
    output = {name, 0};
  }
  for (const std::string& input : c.wrt) {
    const std::string name = fresh_name(p, "before_" + input);
    for (Node& node : p.nodes) {
      rename_operands(node, [&](const Ref& ref) { return ref.name == input ? Ref{name, 0} : ref; });
    }
    p.nodes.insert(p.nodes.begin(),
                   {name, "aten.mul.Tensor", {{"self", Ref{input, 0}}, {"other", Scalar{2.0}}}});
  }
  c.model.reset();
  verify(c, table);
  return c;
}

FakeRealSummary compare_fakes(const FakeRealOptions& options, const OpTable& table,
                              Scheduler& scheduler) {
  return Comparison(options, table, scheduler).run();
}

}  // namespace ulpfuzz
