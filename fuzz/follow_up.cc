#include "fuzz/follow_up.h"

#include <algorithm>

#include "report/report.h"

namespace ulpfuzz {
namespace {

std::multiset<std::string> operators(const Program& program) {
  std::multiset<std::string> ops;
  for (const Node& node : program.nodes) ops.insert(node.op);
  return ops;
}

std::map<std::string, std::string> files_of(const Finding& finding, const OpTable& table) {
  return {{"case.json", to_pretty_json(finding.original)},
          {"minimal.json", to_pretty_json(finding.minimal)},
          {"repro.py", repro_py(finding, table)},
          {"report.md", report_md(finding, table)}};
}

}  // namespace

FollowUp::FollowUp(Store& store, const OpTable& table, const JudgeOptions& judge,
                   Scheduler& scheduler)
    : store_(store), table_(table), judge_(judge), scheduler_(scheduler) {
  for (const Store::StoredFinding& finding : store_.findings()) {
    const auto minimal = finding.folder / "minimal.json";
    if (std::filesystem::exists(minimal)) {
      known_.push_back(
          {finding.signature, operators(read_case(minimal.string()).program), finding});
    }
  }
}

FollowUp::Outcome FollowUp::follow(const Case& c, const Verdict& verdict, std::int64_t campaign,
                                   std::uint64_t index, const Limits& limits) {
  const Signature wanted = signature(verdict);
  const std::multiset<std::string> ops = operators(c.program);
  for (const Known& known : known_) {
    const bool contained =
        std::includes(ops.begin(), ops.end(), known.operators.begin(), known.operators.end());
    if (known.signature != wanted || !contained) continue;
    store_.add_finding(known.stored, c, campaign, index, {}, {});
    return Outcome::kKnown;
  }
  limits.show("reducing " + to_string(wanted));
  InvestigateOptions how;
  how.cpu_budget_seconds = limits.cpu_budget_seconds;
  how.look_if_reportable = true;
  how.stopped = [&] { return limits.given_up() || limits.stopped(); };
  how.progress = [&](const ReductionProgress& p) {
    limits.show("reducing " + to_string(wanted) + ": " + std::string(p.pass) + ", " +
                std::to_string(p.steps) + " steps");
  };
  const std::optional<Finding> finding = investigate(c, verdict, judge_, table_, scheduler_, how);
  if (!finding || limits.given_up()) return Outcome::kLost;
  Store::StoredFinding stored;
  stored.id = finding->id;
  stored.signature = finding->signature;
  stored.minimal_hash = hashes(finding->minimal).whole;
  stored.reduced = finding->reduced;
  stored.folder = store_.folder_of(finding->id);
  store_.add_finding(stored, c, campaign, index, finding->system_run.versions,
                     files_of(*finding, table_));
  known_.push_back({wanted, operators(finding->minimal.program), stored});
  found_.push_back({stored, reportable(*finding, table_)});
  return Outcome::kNew;
}

}  // namespace ulpfuzz
