#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "report/report.h"

// Findings put together by hand.
namespace ulpfuzz {

inline Node node(std::string name, std::string op, std::vector<NamedArgument> args) {
  return Node{std::move(name), std::move(op), std::move(args)};
}

inline TensorResult float_result(const std::string& name, const std::vector<float>& elements) {
  TensorResult t;
  t.name = name;
  t.layout = {DType::kFloat32, {static_cast<std::int64_t>(elements.size())}, {1}, 0};
  t.bytes.resize(elements.size() * sizeof(float));
  std::memcpy(t.bytes.data(), elements.data(), t.bytes.size());
  return t;
}

inline Fact fact(VerdictKind kind, std::string tensor, std::string detail) {
  Fact fact;
  fact.kind = kind;
  fact.tensor = std::move(tensor);
  fact.rung = "float32";
  fact.strength = "observed";
  fact.detail = std::move(detail);
  return fact;
}

// torch.fft.rfft over a dimension that is not the last: inductor's stride assertion fails in 2.11.
inline Finding stride_assert_finding() {
  Finding f;
  f.id = "0123456789ab";
  f.signature = {VerdictKind::kStrideAssert, "inductor", "AssertionError in forward"};
  f.minimal.program.inputs = {{"x", DType::kFloat32, {3, 4, 6}}};
  f.minimal.inputs.resize(1);
  f.minimal.inputs[0].fill.seed = 7;
  f.minimal.program.nodes = {
      node("y", "aten.fft_rfft.default", {{"self", Ref{"x"}}, {"dim", Dim(1)}})};
  f.minimal.program.outputs = {{"y"}};
  f.minimal.cotangents.resize(1);
  f.original = f.minimal;
  f.verdict.system = "inductor";
  f.verdict.primary = VerdictKind::kStrideAssert;
  f.verdict.facts = {fact(VerdictKind::kStrideAssert, "",
                          "AssertionError in forward: expected size 3==3, stride 6==18 at dim=0")};
  f.eager.system = "eager@py";
  f.eager.primary = VerdictKind::kAgree;
  f.system_run.status = Run::Status::kRaised;
  f.system_run.stage = Stage::kForward;
  f.system_run.exception_type = "AssertionError";
  f.system_run.exception_message = "expected size 3==3, stride 6==18 at dim=0";
  f.system_run.versions = {{"torch", "2.11.0"}, {"python", "3.11.2"}};
  f.reduced = true;
  return f;
}

// asinh of a large number, which overflows in the vector formula that squares it. `compiled` is
// what the system is said to have returned for each of the 16 elements.
inline Finding asinh_finding(float compiled) {
  Finding f;
  f.id = "ba9876543210";
  const bool finite = compiled - compiled == 0;
  const VerdictKind kind = finite ? VerdictKind::kWrong : VerdictKind::kNanMismatch;
  f.signature = {kind, "inductor", ""};
  f.minimal.program.inputs = {{"x", DType::kFloat32, {16}}};
  f.minimal.inputs.resize(1);
  f.minimal.inputs[0].fill.kind = Fill::Kind::kLiteral;
  f.minimal.inputs[0].fill.values = {2.4e20};
  f.minimal.program.nodes = {node("y", "aten.asinh.default", {{"self", Ref{"x"}}})};
  f.minimal.program.outputs = {{"y"}};
  f.minimal.cotangents.resize(1);
  f.original = f.minimal;
  f.verdict.system = "inductor";
  f.verdict.primary = kind;
  f.verdict.facts = {fact(kind, "output 0", "output 0[0] is not right")};
  f.eager.primary = VerdictKind::kAgree;
  f.system_run.executions = {{0, {float_result("output 0", std::vector<float>(16, compiled))}}};
  f.eager_run.executions = {{0, {float_result("output 0", std::vector<float>(16, 47.620316F))}}};
  f.system_run.versions = {{"torch", "2.11.0"}};
  ExactTensor exact;
  exact.name = "output 0";
  exact.type = {DType::kFloat32, {16}};
  exact.values.assign(16, 47.62031778);
  exact.bound.assign(16, 1e-5);
  exact.marks.assign(16, 0);
  f.exact.tensors = {exact};
  return f;
}

}  // namespace ulpfuzz
