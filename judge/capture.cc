#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "judge/facts.h"

namespace ulpfuzz {
namespace {

// "of 12 of 40 elements" where bytes differ.
std::string difference(const TensorResult& module, const TensorResult& program) {
  if (module.present != program.present) return "is there in one and not in the other";
  if (module.layout.dtype != program.layout.dtype || module.layout.shape != program.layout.shape) {
    return "is " + to_string(module.layout) + ", captured " + to_string(program.layout);
  }
  const std::size_t size = static_cast<std::size_t>(item_size(module.layout.dtype));
  std::size_t differ = 0;
  for (std::size_t at = 0; at < module.bytes.size(); at += size) {
    if (!std::equal(module.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    module.bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                    program.bytes.begin() + static_cast<std::ptrdiff_t>(at))) {
      ++differ;
    }
  }
  if (differ == 0) return "";
  return fmt::format("differs in {} of {} elements", differ, module.bytes.size() / size);
}

}  // namespace

void capture_facts(const Run& module, const Run& program, const std::string& rung,
                   std::vector<Fact>& facts) {
  const auto add = [&](const std::string& tensor, const std::string& detail) {
    Fact fact;
    fact.kind = VerdictKind::kCaptureMismatch;
    fact.tensor = tensor;
    fact.rung = rung;
    fact.strength = "observed";
    fact.detail = detail;
    facts.push_back(std::move(fact));
  };
  if (module.status != program.status) {
    return add("", fmt::format(
                       "the module's eager run is {}, its program's {}: {}", name(module.status),
                       name(program.status),
                       program.completed() ? module.exception_message : program.exception_message));
  }
  if (!module.completed()) return;
  std::set<std::string> seen;
  for (std::size_t e = 0; e < module.executions.size(); ++e) {
    for (const TensorResult& result : module.executions[e].tensors) {
      const TensorResult* captured = program.executions.at(e).find(result.name);
      const std::string what =
          captured == nullptr ? "is not captured" : difference(result, *captured);
      if (what.empty() || !seen.insert(result.name).second) continue;
      add(result.name, fmt::format("{} of the module {} from its captured program, on input set {}",
                                   result.name, what, module.executions[e].input_set));
    }
  }
}

}  // namespace ulpfuzz
