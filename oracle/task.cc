#include "oracle/task.h"

#include "ir/differentiate.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {

namespace {

Case bind(const Case& c) {
  Case bound = c;
  bound.program = bind_symbols(c.program);
  return bound;
}

bool mutates(const Program& program, const OpTable& table) {
  for (const Node& node : program.nodes) {
    if (table.at(node.op).schema.mutates()) return true;
  }
  return false;
}

}  // namespace

Task::Task(const Case& lowered, const OpTable& table, Form form) : case_(bind(lowered)) {
  verify(case_, table);
  const std::size_t outputs = case_.program.outputs.size();
  using Role = TensorResult::Role;
  const bool backward = !case_.wrt.empty() && case_.environment.grad;
  if (backward) {
    std::vector<bool> has_cotangent;
    for (std::size_t i = 0; i < outputs; ++i) {
      has_cotangent.push_back(i < case_.cotangents.size() && case_.cotangents[i].has_value());
    }
    Differentiated d = differentiate(case_.program, case_.wrt, has_cotangent, table);
    program_ = std::move(d.program);
    plan_ = std::make_unique<Plan>(program_, table);
    add_forward(program_.outputs, outputs, d.written_inputs);
    for (std::size_t i = 0; i < case_.wrt.size(); ++i) {
      const TensorType& type = plan_->type(plan_->slot({case_.wrt[i], 0}));
      const int slot = d.gradients[i].name.empty() ? Plan::kNone : plan_->slot(d.gradients[i]);
      results_.push_back({Role::kGradient, "gradient of " + case_.wrt[i], type, slot});
    }
  } else if (mutates(case_.program, table)) {
    Functional f = functionalise(case_.program, table);
    if (form == Form::kFunctional) {
      program_ = std::move(f.program);
      plan_ = std::make_unique<Plan>(program_, table);
      add_forward(program_.outputs, outputs, f.written_inputs);
    } else {
      program_ = case_.program;
      plan_ = std::make_unique<Plan>(program_, table);
      std::vector<Ref> refs = program_.outputs;
      for (const std::string& input : f.written_inputs) refs.push_back({input, 0});
      add_forward(refs, outputs, f.written_inputs);
    }
  } else {
    program_ = case_.program;
    plan_ = std::make_unique<Plan>(program_, table);
    add_forward(program_.outputs, outputs, {});
  }
  for (int slot = 0; slot < static_cast<int>(program_.inputs.size()); ++slot) {
    input_types_.push_back(plan_->type(slot));
  }
  if (backward) return;
  case_.cotangents.clear();
  for (const std::string& input : case_.wrt) {
    const TensorType& type = plan_->type(plan_->slot({input, 0}));
    results_.push_back({Role::kGradient, "gradient of " + input, type, Plan::kNone});
  }
}

void Task::add_forward(const std::vector<Ref>& refs, std::size_t outputs,
                       const std::vector<std::string>& written) {
  using Role = TensorResult::Role;
  for (std::size_t i = 0; i < outputs; ++i) {
    const int slot = plan_->slot(refs[i]);
    results_.push_back({Role::kOutput, "output " + std::to_string(i), plan_->type(slot), slot});
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    const int slot = plan_->slot(refs[outputs + i]);
    results_.push_back({Role::kWrittenInput, written[i] + " after", plan_->type(slot), slot});
  }
}

}  // namespace ulpfuzz
