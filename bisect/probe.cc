#include "bisect/probe.h"

#include <algorithm>

#include "fuzz/investigate.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

const Verdict* verdict_of(const Judged& judged, const SystemSpec& system) {
  const auto found = std::ranges::find(judged.verdicts, to_string(system), &Verdict::system);
  return found != judged.verdicts.end() ? &*found : nullptr;
}

// How a run ended, rather than what it gave.
bool is_event(VerdictKind kind) {
  return kind == VerdictKind::kCrash || kind == VerdictKind::kHang ||
         kind == VerdictKind::kCompileError || kind == VerdictKind::kStrideAssert ||
         kind == VerdictKind::kAcceptReject;
}

}  // namespace

Probed Probe::ask(const SystemSpec& system, Scheduler& scheduler) {
  Probed result;
  JudgeOptions options = options_;
  options.systems = {system};
  Judged judged;
  try {
    judged = judge_cases({case_}, options, table_, scheduler, Company::kStock).front();
  } catch (const NotAvailable& error) {
    result.verdict = error.what();
    return result;
  }
  const SystemSpec eager = eager_beside(system);
  for (const Evidence& e : judged.evidence) {
    if (e.request.system != eager) continue;
    const auto torch = e.run.versions.find("torch");
    if (torch != e.run.versions.end()) result.torch = torch->second;
    if (e.run.completed()) continue;
    result.verdict = "eager mode does not run it: " +
                     (e.run.exception_type.empty() ? "no result" : e.run.exception_type);
    return result;
  }
  const Verdict* found = verdict_of(judged, system);
  if (found == nullptr) {
    result.verdict = "no verdict";
    return result;
  }
  result.verdict = name(found->primary);
  if (!is_finding(found->primary)) {
    result.answer =
        found->primary == VerdictKind::kUndecided ? Answer::kUntestable : Answer::kPasses;
    return result;
  }
  Signature seen = signature(*found);
  seen.system.clear();
  if (!seen.detail.empty()) result.verdict += " (" + seen.detail + ")";
  if (!wanted_) wanted_ = seen;
  Signature wanted = *wanted_;
  wanted.system.clear();
  if (seen == wanted) {
    result.answer = Answer::kFails;
  } else if (!is_event(seen.kind)) {
    result.answer = Answer::kPasses;
  }
  return result;
}

}  // namespace ulpfuzz
