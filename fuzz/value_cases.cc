#include "fuzz/value_cases.h"

#include <algorithm>

#include "generators/generate.h"
#include "ir/error.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

// Two AVX-512 registers of bytes, the most that ATen's vectorised loops take in one step.
constexpr std::int64_t kBody = 128;
constexpr std::int64_t kTail = 7;

std::int64_t elements_of(const ProgramInput& input, const Symbols& symbols) {
  std::int64_t count = 1;
  for (const Dim& dim : input.shape) count *= dim.value(symbols);
  return count;
}

// The case with its largest input grown along one dimension until it has a body and a tail; as it
// was where nothing can grow.
Case with_body_and_tail(Case c, const OpTable& table) {
  Program& program = c.program;
  const auto largest = std::ranges::max_element(program.inputs, {}, [&](const ProgramInput& input) {
    return elements_of(input, program.symbols);
  });
  if (largest == program.inputs.end()) return c;
  const std::int64_t count = elements_of(*largest, program.symbols);
  if (count >= kBody + kTail || count == 0) return c;
  for (std::size_t d = largest->shape.size(); d-- > 0;) {
    const Dim& dim = largest->shape[d];
    if (dim.terms.size() != 1) continue;
    Case grown = c;
    std::int64_t& size = grown.program.symbols[dim.terms.begin()->first];
    const std::int64_t others = count / dim.value(program.symbols);
    size = (kBody + others - 1) / others + kTail;
    try {
      verify(grown, table);
      return grown;
    } catch (const Error&) {  // a size that the call itself names
    }
  }
  return c;
}

Profile small(const std::string& only) {
  Profile profile;
  profile.model_share = 0;
  profile.max_elements = 256;
  profile.large_share = 0;
  profile.dynamic_share = 0;
  profile.only = only;
  return profile;
}

}  // namespace

Case kernel_case(std::uint64_t seed, std::uint64_t index, const OpTable& table,
                 const std::string& only) {
  Profile profile = small(only);
  profile.max_nodes = index % 2 == 0 ? 1 : 4;
  profile.backward_share = 0;
  profile.layout_share = 0.2;
  Case c = generate_case(seed, index, table, profile);
  c.environment = Environment();
  c.environment.dynamic = index % 4 == 3;
  return c;
}

Case operator_case(std::uint64_t seed, std::uint64_t index, const OpTable& table,
                   const std::string& only) {
  Profile profile = small(only);
  profile.alone = true;
  profile.layout_share = 0;
  Case c = generate_case(seed, index, table, profile);
  const bool grad = c.environment.grad;
  c.environment = Environment();
  c.environment.grad = grad;
  return with_body_and_tail(std::move(c), table);
}

}  // namespace ulpfuzz
