#include "systems/request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ir/json.h"
#include "ir/python_source.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

std::vector<std::string> written_inputs(const Program& program, const OpTable& table) {
  const bool mutates = std::ranges::any_of(
      program.nodes, [&](const Node& node) { return table.at(node.op).schema.mutates(); });
  return mutates ? functionalise(program, table).written_inputs : std::vector<std::string>();
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Json inputs_of(const Case& bound, const std::vector<std::string>& written) {
  Json inputs = Json::array();
  for (std::size_t i = 0; i < bound.program.inputs.size(); ++i) {
    const ProgramInput& input = bound.program.inputs[i];
    const InputData& data = bound.inputs[i];
    Shape shape;
    for (const Dim& dim : input.shape) shape.push_back(dim.value({}));
    inputs.push_back({{"name", input.name},
                      {"dtype", name(input.dtype)},
                      {"shape", shape},
                      {"strides", data.strides.empty() ? contiguous_strides(shape) : data.strides},
                      {"offset", data.offset},
                      {"alias", data.alias},
                      {"fill", json_of(data.fill)},
                      {"requires_grad", contains(bound.wrt, input.name)},
                      {"written", contains(written, input.name)}});
  }
  return inputs;
}

Json cotangents_of(const Case& bound, const Types& types) {
  Json cotangents = Json::array();
  for (std::size_t i = 0; i < bound.cotangents.size(); ++i) {
    const std::optional<Cotangent>& cotangent = bound.cotangents[i];
    if (!cotangent) {
      cotangents.push_back(nullptr);
      continue;
    }
    const TensorType& type = types.of(bound.program.outputs[i]);
    cotangents.push_back({{"dtype", name(type.dtype)},
                          {"shape", type.shape},
                          {"strides", cotangent->strides.empty() ? contiguous_strides(type.shape)
                                                                 : cotangent->strides},
                          {"fill", json_of(cotangent->fill)}});
  }
  return cotangents;
}

Json item_of(const RunRequest& request, std::string_view worker, const OpTable& table) {
  Case bound = bind_symbols(request.test);
  Json sets = Json::array();
  for (const std::uint64_t set : request.input_sets) sets.push_back(std::to_string(set));
  Json item = {{"inputs", inputs_of(bound, written_inputs(bound.program, table))},
               {"cotangents", cotangents_of(bound, verify(bound.program, table))},
               {"wrt", bound.wrt},
               {"input_sets", std::move(sets)}};
  if (worker == "python" && bound.module) {
    item["module"] = json_of(*bound.module);
  } else if (worker == "python") {
    item["source"] = python_function(bound.program, table);
  } else {
    bound.module.reset();
    item["case"] = json_of(bound);
  }
  return item;
}

}  // namespace

std::vector<ExpectedResult> expected_results(const RunRequest& request, const OpTable& table) {
  using Role = TensorResult::Role;
  const Case& c = request.test;
  std::vector<ExpectedResult> expected;
  for (std::size_t i = 0; i < c.program.outputs.size(); ++i) {
    expected.push_back({Role::kOutput, "output " + std::to_string(i)});
  }
  const std::vector<std::string> written = written_inputs(c.program, table);
  for (const ProgramInput& input : c.program.inputs) {
    if (contains(written, input.name))
      expected.push_back({Role::kWrittenInput, input.name + " after"});
  }
  if (c.environment.grad) {
    for (const std::string& name : c.wrt) {
      expected.push_back({Role::kGradient, "gradient of " + name});
    }
  }
  return expected;
}

std::string run_message(std::int64_t id, std::span<const RunRequest* const> pack,
                        const Limits& limits, bool stock, std::string_view worker,
                        const OpTable& table) {
  const RunRequest& first = *pack.front();
  Json items = Json::array();
  for (const RunRequest* request : pack) items.push_back(item_of(*request, worker, table));
  const Json message = {{"type", "run"},
                        {"id", id},
                        {"system", first.system.name},
                        {"options", first.system.options},
                        {"environment", json_of(first.test.environment)},
                        {"limits",
                         {{"cpu_seconds", limits.cpu_seconds},
                          {"wall_seconds", limits.wall_seconds},
                          {"memory_bytes", limits.memory_bytes}}},
                        {"profile", first.profile},
                        {"stock", stock},
                        {"items", std::move(items)}};
  return message.dump();
}

}  // namespace ulpfuzz
