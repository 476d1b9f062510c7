#include "generators/build.h"

#include <algorithm>

namespace ulpfuzz {

Dim ProgramBuilder::symbol(const std::string& name, std::int64_t value) {
  case_.program.symbols[name] = value;
  return Dim::symbol(name);
}

Ref ProgramBuilder::input(const std::string& name, DType dtype, std::vector<Dim> shape, Fill fill) {
  case_.program.inputs.push_back({name, dtype, std::move(shape)});
  InputData data;
  data.fill = std::move(fill);
  case_.inputs.push_back(std::move(data));
  return {name, 0};
}

Ref ProgramBuilder::parameter(const std::string& name, DType dtype, std::vector<Dim> shape,
                              Fill fill) {
  parameters_.push_back(name);
  return input(name, dtype, std::move(shape), std::move(fill));
}

Ref ProgramBuilder::call(const std::string& name, const std::string& op,
                         std::vector<NamedArgument> args) {
  case_.program.nodes.push_back({name, "aten." + op, std::move(args)});
  return {name, 0};
}

void ProgramBuilder::output(const Ref& ref, std::optional<Cotangent> cotangent) {
  case_.program.outputs.push_back(ref);
  case_.cotangents.push_back(std::move(cotangent));
}

Case ProgramBuilder::take() && {
  const bool backward = std::any_of(case_.cotangents.begin(), case_.cotangents.end(),
                                    [](const auto& cotangent) { return cotangent.has_value(); });
  if (backward) case_.wrt = std::move(parameters_);
  return std::move(case_);
}

}  // namespace ulpfuzz
