#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "judge/facts.h"

namespace ulpfuzz {
namespace {

// What FakeTensorMode raises where a layout depends on values: no wrong belief.
constexpr std::array<std::string_view, 4> kNeedsValues{
    "DataDependentOutputException", "DynamicOutputShapeException", "UnsupportedOperatorException",
    "GuardOnDataDependentSymNode"};

Fact observed(VerdictKind kind, const std::string& rung, std::string detail) {
  Fact fact;
  fact.kind = kind;
  fact.rung = rung;
  fact.strength = "observed";
  fact.detail = std::move(detail);
  return fact;
}

std::string raised(const Run& run) {
  return run.exception_type + ": " +
         run.exception_message.substr(0, run.exception_message.find('\n'));
}

bool same_strides(const TensorLayout& a, const TensorLayout& b) {
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

std::string storage(const std::string& alias_of) {
  return alias_of.empty() ? "of its own" : "of " + alias_of;
}

// The first difference, its sort before the colon; "" for none.
std::string difference(const TensorResult& fake, const TensorResult& real) {
  const TensorLayout& f = fake.layout;
  const TensorLayout& r = real.layout;
  const auto words = [](bool present) { return present ? "present" : "None"; };
  if (fake.present != real.present) {
    return fmt::format("fake kernel's presence: {}, really {}", words(fake.present),
                       words(real.present));
  }
  if (!fake.present) return "";
  if (f.dtype != r.dtype) {
    return fmt::format("fake kernel's dtype: {}, really {}", name(f.dtype), name(r.dtype));
  }
  if (f.shape != r.shape) {
    return fmt::format("fake kernel's shape: ({}), really ({})", fmt::join(f.shape, ", "),
                       fmt::join(r.shape, ", "));
  }
  if (element_count(f.shape) == 0) return "";
  if (!same_strides(f, r)) {
    return fmt::format("fake kernel's strides: ({}) of shape ({}), really ({})",
                       fmt::join(f.strides, ", "), fmt::join(f.shape, ", "),
                       fmt::join(r.strides, ", "));
  }
  if (f.offset != r.offset) {
    return fmt::format("fake kernel's offset: {}, really {}", f.offset, r.offset);
  }
  if (fake.alias_of != real.alias_of) {
    return fmt::format("fake kernel's storage: {}, really {}", storage(fake.alias_of),
                       storage(real.alias_of));
  }
  return "";
}

}  // namespace

void fake_facts(const Run& fake, const Run& eager, const std::string& rung,
                std::vector<Fact>& facts) {
  if (!eager.completed()) {
    const bool raises = eager.status == Run::Status::kRaised;
    facts.push_back(raises
                        ? observed(VerdictKind::kAgree, rung, "not a valid case: " + raised(eager))
                        : observed(VerdictKind::kUndecided, rung, "eager died"));
    return;
  }
  if (fake.status == Run::Status::kRaised) {
    const bool needs_values = std::ranges::any_of(kNeedsValues, [&](std::string_view type) {
      return fake.exception_type.find(type) != std::string::npos;
    });
    facts.push_back(
        needs_values
            ? observed(VerdictKind::kUndecided, rung, "needs values: " + raised(fake))
            : observed(VerdictKind::kAcceptReject, rung, "fake kernel raises " + raised(fake)));
    return;
  }
  if (!fake.completed()) {
    facts.push_back(
        observed(VerdictKind::kCrash, rung,
                 fmt::format("died in {} with signal {}", name(fake.stage), fake.signal)));
    return;
  }
  if (fake.executions.empty() || eager.executions.empty()) return;
  for (const TensorResult& real : eager.executions.front().tensors) {
    const TensorResult* found = fake.executions.front().find(real.name);
    const std::string detail = found == nullptr ? "missing" : difference(*found, real);
    if (detail.empty()) continue;
    Fact fact = observed(VerdictKind::kMetadata, rung, real.name + ": " + detail);
    fact.tensor = real.name;
    facts.push_back(std::move(fact));
  }
}

}  // namespace ulpfuzz
