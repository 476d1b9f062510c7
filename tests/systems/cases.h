#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/case.h"
#include "ir/run.h"

namespace ulpfuzz {

// Small cases written by hand, with literal inputs.
class CaseBuilder {
 public:
  Ref input(const std::string& name, DType dtype, const Shape& shape, std::vector<double> values,
            std::vector<std::int64_t> strides = {}, std::int64_t offset = 0, int alias = -1) {
    case_.program.inputs.push_back({name, dtype, {shape.begin(), shape.end()}});
    Fill fill;
    fill.kind = Fill::Kind::kLiteral;
    if (is_integral(dtype)) {
      for (const double v : values) fill.integers.push_back(static_cast<std::int64_t>(v));
    } else {
      fill.values = std::move(values);
    }
    case_.inputs.push_back({std::move(strides), offset, alias, std::move(fill)});
    return {name, 0};
  }
  // `op` without "aten.": "add.Tensor".
  Ref node(const std::string& name, const std::string& op, std::vector<NamedArgument> args) {
    case_.program.nodes.push_back({name, "aten." + op, std::move(args)});
    return {name, 0};
  }
  CaseBuilder& output(const Ref& ref) {
    case_.program.outputs.push_back(ref);
    case_.cotangents.push_back(std::nullopt);
    return *this;
  }
  // An output into which this gradient flows.
  CaseBuilder& output(const Ref& ref, std::vector<double> cotangent,
                      std::vector<std::int64_t> strides = {}) {
    output(ref);
    Fill fill;
    fill.kind = Fill::Kind::kLiteral;
    fill.values = std::move(cotangent);
    case_.cotangents.back() = Cotangent{std::move(strides), std::move(fill)};
    return *this;
  }
  CaseBuilder& wrt(std::vector<std::string> names) {
    case_.wrt = std::move(names);
    return *this;
  }
  Case take() const { return case_; }
  Case& edit() { return case_; }

 private:
  Case case_;
};

inline RunRequest request(const Case& c, const std::string& system = "eager@cpp") {
  RunRequest wish;
  wish.test = c;
  wish.system = parse_system(system);
  return wish;
}

// x + 1, one element: told apart by the value of x.
inline Case plus_one(double x) {
  CaseBuilder b;
  const Ref in = b.input("x", DType::kFloat32, {1}, {x});
  b.output(b.node("y", "add.Tensor", {{"self", in}, {"other", Scalar{std::int64_t{1}}}}));
  return b.take();
}

}  // namespace ulpfuzz
