#include <fmt/format.h>

#include <array>
#include <string_view>

#include "judge/facts.h"

namespace ulpfuzz {
namespace {

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// The compiled code's own check of a layout (Inductor's assert_size_stride and alignment checks).
bool is_stride_assert(const Run& run) {
  return contains_any(run.exception_message, {"expected size", "assert_size_stride"}) &&
         contains_any(run.exception_message, {"stride"});
}

// Exceptions that a compiler raises of itself, whatever the stage: Dynamo and Inductor compile at
// the first call.
bool is_compiler_exception(const Run& run) {
  return run.stage == Stage::kCompile &&
         contains_any(run.exception_type,
                      {"Inductor", "Backend", "Lowering", "Compile", "Unsupported", "Internal",
                       "Assertion", "KeyError", "IndexError", "AttributeError", "TypeError",
                       "NameError", "NotImplemented", "Recursion"});
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string raised(const Run& run) {
  return fmt::format("{} in {}: {}", run.exception_type, name(run.stage),
                     first_line(run.exception_message));
}

Fact event(VerdictKind kind, const std::string& rung, std::string detail) {
  Fact fact;
  fact.kind = kind;
  fact.rung = rung;
  fact.strength = "observed";
  fact.detail = std::move(detail);
  return fact;
}

// A death that needs no eager run beside it to be a fact.
bool death_facts(const Run& run, const std::string& rung, std::vector<Fact>& facts) {
  switch (run.status) {
    case Run::Status::kCrashed:
      facts.push_back(event(VerdictKind::kCrash, rung,
                            fmt::format("died in {} with signal {}", name(run.stage), run.signal)));
      return true;
    case Run::Status::kHung:
      facts.push_back(event(VerdictKind::kHang, rung,
                            fmt::format("did not end within its limit, in {}", name(run.stage))));
      return true;
    case Run::Status::kOutOfMemory:
      facts.push_back(event(VerdictKind::kCrash, rung,
                            fmt::format("exceeded its memory limit, in {}", name(run.stage))));
      return true;
    default:
      return false;
  }
}

}  // namespace

bool eager_event_facts(const Run& eager, const std::string& rung, std::vector<Fact>& facts) {
  if (death_facts(eager, rung, facts)) return false;
  if (eager.completed()) return true;
  facts.push_back(event(VerdictKind::kAgree, rung, "not a valid case: " + raised(eager)));
  return false;
}

bool event_facts(const Run& run, const Run& eager, const std::string& rung,
                 std::vector<Fact>& facts) {
  const bool eager_died = !eager.completed() && eager.status != Run::Status::kRaised;
  if (eager_died) {  // nothing to hold the system against; eager's own verdict says so
    facts.push_back(event(VerdictKind::kUndecided, rung, "eager died"));
    return false;
  }
  if (death_facts(run, rung, facts)) return false;
  if (run.status == Run::Status::kNotCompiled) {
    facts.push_back(event(VerdictKind::kUndecided, rung, "no compile was proved"));
    return false;
  }
  const bool eager_raised = eager.status == Run::Status::kRaised;
  if (run.status == Run::Status::kRaised) {
    if (run.exception_type == "Stopped") {
      facts.push_back(event(VerdictKind::kUndecided, rung, "stopped before it ran"));
    } else if (eager_raised) {
      facts.push_back(event(VerdictKind::kAgree, rung, "both raise: " + raised(run)));
    } else if (is_stride_assert(run)) {
      facts.push_back(event(VerdictKind::kStrideAssert, rung, raised(run)));
    } else if (is_compiler_exception(run)) {
      facts.push_back(event(VerdictKind::kCompileError, rung, raised(run)));
    } else {
      facts.push_back(
          event(VerdictKind::kAcceptReject, rung, "eager runs; compiled raises " + raised(run)));
    }
    return false;
  }
  if (eager_raised) {
    facts.push_back(
        event(VerdictKind::kAcceptReject, rung, "compiled runs; eager raises " + raised(eager)));
    return false;
  }
  return true;
}

void determinism_facts(const Run& run, const std::string& rung, std::vector<Fact>& facts) {
  for (std::size_t i = 0; i < run.executions.size(); ++i) {
    for (std::size_t j = i + 1; j < run.executions.size(); ++j) {
      const Execution& a = run.executions[i];
      const Execution& b = run.executions[j];
      if (a.input_set != b.input_set) continue;
      for (const TensorResult& first : a.tensors) {
        const TensorResult* second = b.find(first.name);
        if (second == nullptr || first.bytes == second->bytes) continue;
        Fact fact =
            event(VerdictKind::kNondeterministic, rung,
                  fmt::format("{} differs between two executions of the same inputs", first.name));
        fact.tensor = first.name;
        facts.push_back(std::move(fact));
      }
    }
  }
}

}  // namespace ulpfuzz
