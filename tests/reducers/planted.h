#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "generators/build.h"
#include "ops/table.h"
#include "reducers/reducer.h"

// Programs and faults planted by predicate, so that the smallest failing case is known.
namespace ulpfuzz {

using Fails = std::function<bool(const Case&)>;

// The predicate as reduce() wants it.
inline StillFails each(Fails fails) {
  return [fails = std::move(fails)](std::span<const Case> cases) {
    std::vector<bool> answers;
    for (const Case& c : cases) answers.push_back(fails(c));
    return answers;
  };
}

inline ReducedCase reduce_with(const Case& c, Fails fails) {
  return reduce(c, op_table(), each(std::move(fails)));
}

inline bool contains(const Case& c, std::string_view op) {
  for (const Node& node : c.program.nodes) {
    if (node.op == op) return true;
  }
  return false;
}

inline std::int64_t elements_of(const Case& c, std::size_t input) {
  std::int64_t n = 1;
  for (const Dim& dim : c.program.inputs.at(input).shape) n *= dim.value(c.program.symbols);
  return n;
}

// `length` unary calls one after the other, the one at `guilty` being a sin among cosines.
inline Case chain(int length, int guilty, std::vector<Dim> shape = {4, 3}) {
  ProgramBuilder b;
  Ref x = b.parameter("start", DType::kFloat32, std::move(shape), Fill{});
  for (int i = 0; i < length; ++i) {
    x = b.call("step" + std::to_string(i), i == guilty ? "sin.default" : "cos.default",
               {{"self", x}});
  }
  b.output(x, Cotangent{});
  return std::move(b).take();
}

// Two chains of `length` that an addition joins, each with one guilty node in its middle: a sin in
// the one, a tanh in the other.
inline Case two_branches(int length) {
  ProgramBuilder b;
  Ref left = b.input("left_start", DType::kFloat32, {4, 3}, Fill{});
  Ref right = b.input("right_start", DType::kFloat32, {4, 3}, Fill{});
  for (int i = 0; i < length; ++i) {
    const bool guilty = i == length / 2;
    const std::string n = std::to_string(i);
    left = b.call("left" + n, guilty ? "sin.default" : "cos.default", {{"self", left}});
    right = b.call("right" + n, guilty ? "tanh.default" : "exp.default", {{"self", right}});
  }
  b.output(b.call("joined", "add.Tensor", {{"self", left}, {"other", right}}));
  return std::move(b).take();
}

}  // namespace ulpfuzz
