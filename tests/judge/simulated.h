#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/verify.h"
#include "judge/causes.h"
#include "tests/judge/runs.h"

// Systems written as plain float32 loops, apart from the oracle.
namespace ulpfuzz {

using Values = std::vector<double>;
using Named = std::map<std::string, Values>;  // by node, or "node.1" for a second result

// Results of all nodes of a program, from the values of its inputs. `program`: what was asked for,
// for systems whose answer depends on it.
using System = std::function<Named(const Named& inputs, const Program& program)>;

inline TensorResult stored(const std::string& name, const TensorType& type, const Values& values) {
  if (type.dtype == DType::kBFloat16) {
    std::vector<std::uint16_t> halves;
    for (const double v : values) {
      const auto rounded = static_cast<float>(round_to(DType::kBFloat16, v));
      std::uint32_t bits = 0;
      std::memcpy(&bits, &rounded, sizeof bits);
      halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    }
    return tensor_of(name, type.dtype, type.shape, halves);
  }
  std::vector<float> floats(values.begin(), values.end());
  return tensor_of(name, type.dtype, type.shape, floats);
}

inline Run run_simulated(const System& system, const RunRequest& request, const OpTable& table) {
  Run run;
  run.counters["graphs"] = 1;
  const Program& program = request.test.program;
  const Types types = verify(program, table);
  for (const std::uint64_t set : request.input_sets) {
    Named inputs;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const TensorType& type = types.of({program.inputs[i].name, 0});
      inputs[program.inputs[i].name] =
          generate(request.test.inputs[i].fill, type.dtype, type.shape, set).reals;
    }
    const Named all = system(inputs, program);
    Execution execution;
    execution.input_set = set;
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const Ref& ref = program.outputs[o];
      execution.tensors.push_back(
          stored("output " + std::to_string(o), types.of(ref), all.at(ref.name)));
    }
    run.executions.push_back(std::move(execution));
  }
  return run;
}

struct Found {
  Causes causes;
  std::vector<RunRequest> asked;
};

// Plays scheduler for a system beside an eager.
inline Found find(const Case& c, const System& system, const System& eager, const OpTable& table) {
  CauseOptions options;
  options.system = parse_system("inductor");
  const CauseSearch search(c, options, table);
  std::vector<Evidence> evidence;
  Found found;
  for (int round = 0; round < 20; ++round) {
    CauseSearch::Step step = search.next(evidence);
    if (step.answer) {
      found.causes = *step.answer;
      break;
    }
    for (RunRequest& request : step.requests) {
      found.asked.push_back(request);
      const bool beside = request.system.name == "eager@py";
      evidence.push_back({request, run_simulated(beside ? eager : system, request, table)});
    }
  }
  return found;
}

}  // namespace ulpfuzz
