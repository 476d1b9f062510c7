#include <limits>

#include "ir/case.h"
#include "reducers/reducer.h"

namespace ulpfuzz {
namespace {

std::int64_t elements(const Program& program) {
  std::int64_t n = 0;
  for (const ProgramInput& input : program.inputs) {
    std::int64_t size = 1;
    for (const Dim& dim : input.shape) size *= dim.value(program.symbols);
    n += size;
  }
  return n;
}

std::int64_t ranks(const Program& program) {
  std::int64_t n = 0;
  for (const ProgramInput& input : program.inputs)
    n += static_cast<std::int64_t>(input.shape.size());
  return n;
}

// Sizes of a model's configuration: numbers by magnitude, switches by 1.
std::int64_t config_weight(const ModelConfig& model) {
  std::int64_t n = 0;
  for (const auto& [field, value] : model.fields) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) n += *integer;
    if (const auto* flag = std::get_if<bool>(&value)) n += *flag ? 1 : 0;
  }
  return n;
}

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

}  // namespace

CaseSize size_of(const Case& c) {
  const Program& p = c.program;
  return {{c.model ? 1 : 0, count(p.nodes.size()), count(p.outputs.size() + c.wrt.size()),
           count(p.inputs.size()), elements(p), ranks(p), c.model ? config_weight(*c.model) : 0,
           count(to_json(c).size())}};
}

}  // namespace ulpfuzz
