#include "judge/rung.h"

#include <algorithm>

#include "ir/call.h"
#include "ir/verify.h"
#include "judge/judge.h"

namespace ulpfuzz {
namespace {

// Orders floating dtypes by significand, so that bfloat16 is the narrowest.
bool narrower(DType a, DType b) { return float_format(a).precision < float_format(b).precision; }

DType raised(DType dtype, DType rung) {
  if (!is_floating(dtype) || !narrower(dtype, rung)) return dtype;
  return rung;
}

// The numbers of a fill stay those that `before` can represent.
void keep_numbers(Fill& fill, DType before, DType after) {
  if (before == after || !is_floating(before)) return;
  if (!is_floating(fill.grid) || narrower(before, fill.grid)) fill.grid = before;
}

}  // namespace

DType narrowest_floating(const Case& c) {
  DType narrowest = DType::kFloat64;
  bool any = false;
  const auto see = [&](DType dtype) {
    if (!is_floating(dtype)) return;
    any = true;
    if (narrower(dtype, narrowest)) narrowest = dtype;
  };
  for (const ProgramInput& input : c.program.inputs) see(input.dtype);
  for (const Node& node : c.program.nodes) {
    for (const NamedArgument& arg : node.args) {
      if (const auto* dtype = std::get_if<DType>(&arg.value)) see(*dtype);
    }
  }
  return any ? narrowest : DType::kFloat32;
}

Case at_rung(const Case& lowered, DType dtype, const OpTable& table) {
  const Types before = verify(lowered.program, table);
  Case c = lowered;
  for (std::size_t i = 0; i < c.program.inputs.size(); ++i) {
    ProgramInput& input = c.program.inputs[i];
    const DType after = raised(input.dtype, dtype);
    keep_numbers(c.inputs[i].fill, input.dtype, after);
    input.dtype = after;
  }
  for (Node& node : c.program.nodes) {
    for (NamedArgument& arg : node.args) {
      if (auto* type = std::get_if<DType>(&arg.value)) *type = raised(*type, dtype);
    }
  }
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    if (!c.cotangents[i]) continue;
    const DType was = before.of(lowered.program.outputs[i]).dtype;
    keep_numbers(c.cotangents[i]->fill, was, raised(was, dtype));
  }
  c.model.reset();  // its program is no longer what the configuration builds
  if (c.module) c.module->dtype = name(raised(*parse_dtype(c.module->dtype), dtype));
  return c;
}

}  // namespace ulpfuzz
