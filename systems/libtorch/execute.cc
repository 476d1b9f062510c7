#include "systems/libtorch/execute.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <map>

#include "ir/error.h"
#include "systems/libtorch/dispatch.h"
#include "systems/libtorch/switches.h"
#include "systems/libtorch/tensors.h"

namespace ulpfuzz::libtorch {
namespace {

std::vector<at::Tensor> run_nodes(const Program& program, const std::vector<at::Tensor>& inputs) {
  std::map<std::string, std::vector<at::Tensor>, std::less<>> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[program.inputs[i].name] = {inputs[i]};
  const Lookup lookup = [&](const Ref& ref) {
    const auto it = values.find(ref.name);
    const auto output = static_cast<std::size_t>(ref.output);
    if (it == values.end() || output >= it->second.size()) {
      throw Error(ref.name, "there is no such value");
    }
    return it->second[output];
  };
  for (const Node& node : program.nodes) values[node.name] = call_boxed(node, lookup);
  std::vector<at::Tensor> outputs;
  for (const Ref& ref : program.outputs) outputs.push_back(lookup(ref));
  return outputs;
}

// torch.autograd.grad(outputs, wrt, cotangents, allow_unused=True)
std::vector<at::Tensor> backward(const Case& c, const Outcome& outcome, std::uint64_t input_set,
                                 const std::function<void(Stage)>& enter) {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> cotangents;
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    if (!c.cotangents[i] || !outcome.outputs.at(i).requires_grad()) continue;
    outputs.push_back(outcome.outputs[i]);
    cotangents.push_back(make_cotangent(*c.cotangents[i], outcome.outputs[i], input_set));
  }
  if (outputs.empty()) return std::vector<at::Tensor>(c.wrt.size());
  std::vector<at::Tensor> wrt;
  for (const std::string& name : c.wrt) {
    const auto at = std::ranges::find(c.program.inputs, name, &ProgramInput::name);
    wrt.push_back(outcome.inputs.at(static_cast<std::size_t>(at - c.program.inputs.begin())));
  }
  enter(Stage::kBackward);
  return torch::autograd::grad(outputs, wrt, cotangents, /*retain_graph=*/std::nullopt,
                               /*create_graph=*/false, /*allow_unused=*/true);
}

}  // namespace

Outcome execute(const Case& c, std::uint64_t input_set, const std::function<void(Stage)>& enter,
                const Forward& forward) {
  return execute_on(c, make_inputs(c, input_set, at::Device(c.environment.device)), input_set,
                    enter, forward);
}

Outcome execute_on(const Case& c, std::vector<at::Tensor> inputs, std::uint64_t input_set,
                   const std::function<void(Stage)>& enter, const Forward& forward) {
  Outcome outcome;
  outcome.inputs = std::move(inputs);
  at::manual_seed(c.environment.rng_seed);
  enter(Stage::kForward);
  {
    const ForwardScope scope(c.environment);
    outcome.outputs = forward ? forward(outcome.inputs) : run_nodes(c.program, outcome.inputs);
  }
  if (c.environment.grad && !c.wrt.empty()) {
    outcome.gradients = backward(c, outcome, input_set, enter);
  }
  return outcome;
}

}  // namespace ulpfuzz::libtorch
