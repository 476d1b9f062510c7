#pragma once

#include <string>
#include <vector>

#include "ir/case.h"
#include "oracle/oracle.h"

// One operator on tensors that are written out.
namespace ulpfuzz::test {

struct Operand {
  std::string name;
  DType dtype;
  Shape shape;
  std::vector<double> values;
  Shape strides = {};  // empty: contiguous
};

inline Case one_call(const std::string& op, const std::vector<Operand>& operands,
                     std::vector<NamedArgument> args) {
  Case c;
  for (const Operand& operand : operands) {
    c.program.inputs.push_back({operand.name, operand.dtype,
                                std::vector<Dim>(operand.shape.begin(), operand.shape.end())});
    InputData data;
    data.strides = operand.strides;
    data.fill.kind = Fill::Kind::kLiteral;
    if (is_integral(operand.dtype)) {
      for (const double value : operand.values) {
        data.fill.integers.push_back(static_cast<std::int64_t>(value));
      }
    } else {
      data.fill.values = operand.values;
    }
    c.inputs.push_back(std::move(data));
  }
  c.program.nodes.push_back({"y", op, std::move(args)});
  c.program.outputs.push_back({"y", 0});
  c.cotangents.emplace_back();
  return c;
}

inline std::vector<Dim> dims(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace ulpfuzz::test
