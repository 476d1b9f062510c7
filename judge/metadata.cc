#include <fmt/format.h>
#include <fmt/ranges.h>

#include "judge/facts.h"

namespace ulpfuzz {
namespace {

// Strides are stepped over only where there is more than one element. Those of dimensions of size 1
// are a sort of their own: few programs look at them, though some do (pytorch#197815).
bool same_strides(const TensorLayout& a, const TensorLayout& b, bool size_one_too) {
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    const bool counts = size_one_too || a.shape[d] > 1;
    if (counts && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// The first difference in words, or "" for none. Gradients may have any layout: autograd promises
// none.
std::string difference(const TensorResult& result, const TensorResult& eager) {
  const TensorLayout& got = result.layout;
  const TensorLayout& want = eager.layout;
  if (result.present != eager.present) {
    return fmt::format("{} where eager's is {}", result.present ? "present" : "None",
                       eager.present ? "present" : "None");
  }
  if (!result.present) return "";
  if (got.dtype != want.dtype) {
    return fmt::format("dtype {} where eager's is {}", name(got.dtype), name(want.dtype));
  }
  if (got.shape != want.shape) {
    return fmt::format("shape [{}] where eager's is [{}]", fmt::join(got.shape, ", "),
                       fmt::join(want.shape, ", "));
  }
  if (result.role == TensorResult::Role::kGradient || element_count(got.shape) == 0) return "";
  const std::string strides =
      fmt::format("strides ({}) where eager's are ({})", fmt::join(got.strides, ", "),
                  fmt::join(want.strides, ", "));
  if (!same_strides(got, want, false)) return strides;
  if (!same_strides(got, want, true)) return strides + ", in dimensions of size 1";
  if (result.alias_of != eager.alias_of) {
    return fmt::format("shares storage with '{}' where eager's shares with '{}'", result.alias_of,
                       eager.alias_of);
  }
  return "";
}

}  // namespace

void metadata_facts(const Execution& execution, const Execution& eager, const std::string& rung,
                    std::vector<Fact>& facts) {
  for (const TensorResult& want : eager.tensors) {
    const TensorResult* got = execution.find(want.name);
    const std::string detail = got == nullptr ? "missing" : difference(*got, want);
    if (detail.empty()) continue;
    Fact fact;
    fact.kind = VerdictKind::kMetadata;
    fact.tensor = want.name;
    fact.rung = rung;
    fact.strength = "observed";
    fact.detail = want.name + ": " + detail;
    facts.push_back(std::move(fact));
  }
}

}  // namespace ulpfuzz
