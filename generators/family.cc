#include "generators/family.h"

#include "generators/llama.h"
#include "generators/phi3.h"
#include "generators/qwen2.h"
#include "ir/error.h"

namespace ulpfuzz {

// Every family: one line.
std::span<const Family> families() {
  static const std::vector<Family> all = {
      qwen2_family(),
      llama_family(),
      phi3_family(),
  };
  return all;
}

const Family& family(std::string_view name) {
  std::string known;
  for (const Family& candidate : families()) {
    if (candidate.name == name) return candidate;
    known += known.empty() ? "" : ", ";
    known += candidate.name;
  }
  throw Error("/model/family", "unknown family \"" + std::string(name) + "\"; known: " + known);
}

Case lower(const Case& c) {
  if (!c.model || !c.program.nodes.empty() || !c.program.inputs.empty()) return c;
  Case lowered = family(c.model->family).build(*c.model);
  lowered.environment = c.environment;
  return lowered;
}

}  // namespace ulpfuzz
