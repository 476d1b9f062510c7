#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz {

inline Fill literal(std::vector<double> values) {
  Fill fill;
  fill.kind = Fill::Kind::kLiteral;
  fill.values = std::move(values);
  return fill;
}

inline Fill normal(std::uint64_t seed, DType grid = DType::kFloat64) {
  Fill fill;
  fill.seed = seed;
  fill.grid = grid;
  return fill;
}

// A case a line at a time.
class CaseText {
 public:
  CaseText& input(const std::string& name, DType dtype, const Shape& shape, Fill fill) {
    test_.program.inputs.push_back({name, dtype, std::vector<Dim>(shape.begin(), shape.end())});
    test_.inputs.push_back({{}, 0, -1, std::move(fill)});
    return *this;
  }
  CaseText& node(const std::string& name, const std::string& op, std::vector<NamedArgument> args) {
    test_.program.nodes.push_back({name, op, std::move(args)});
    return *this;
  }
  CaseText& output(const std::string& name, int index = 0) {
    test_.program.outputs.push_back({name, index});
    test_.cotangents.emplace_back();
    return *this;
  }
  CaseText& gradients(std::vector<std::string> wrt, Fill cotangent) {
    test_.wrt = std::move(wrt);
    for (auto& each : test_.cotangents) each = Cotangent{{}, cotangent};
    return *this;
  }
  const Case& get() const { return test_; }

 private:
  Case test_;
};

inline Argument ref(const std::string& name, int output = 0) { return Ref{name, output}; }
inline Argument number(double value) { return Scalar{value}; }

}  // namespace ulpfuzz
