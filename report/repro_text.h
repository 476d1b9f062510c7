#pragma once

#include <string>
#include <vector>

#include "report/report.h"

// The parts of repro.py.
namespace ulpfuzz {

// Python for the circumstances of a case.
struct ReproSetting {
  std::vector<std::string> before_torch;  // statements that must stand before `import torch`
  std::vector<std::string> imports;
  std::vector<std::string> switches;  // statements after the imports
  std::vector<std::string> contexts;  // around the calls: "torch.no_grad()"
  std::string kernels;         // SDPA choice as a list; empty: none. `run` takes it as argument
  std::string primed_kernels;  // that of an earlier compile; empty: none
};
ReproSetting repro_setting(const Environment& environment);

// How a user writes a system.
struct CompiledText {
  std::string expression;  // "torch.compile(program, dynamic=True)"; "program" for an eager system
  std::vector<std::string> imports;  // statements, for after `import torch`
  std::string functions;             // definitions that it needs, which call `run`
  std::string needs;                 // "torch alone"
};
CompiledText compiled_text(const SystemSpec& system, const Environment& environment);

// What `run` gives back.
struct RunResult {
  std::string tensor;            // "output 0", "gradient of x", "x after"; empty: all results
  bool with_neighbours = false;  // a pair: the tensor, and the inputs and earlier outputs
};
// `def run(f):` builds the inputs, calls f and returns a result. Functions that it needs stand in
// front of it.
std::string run_function(const Case& bound, const RunResult& result, const ReproSetting& setting,
                         const OpTable& table);

// `def main():`, which runs, compares, prints, and returns the exit status; and what it needs.
struct ReproCheck {
  Case shown;                        // bound
  RunResult result;                  // that `run` shall give
  std::vector<std::string> imports;  // "re"
  std::string functions;             // definitions, main last
};
ReproCheck repro_check(const Finding& finding, const OpTable& table);

}  // namespace ulpfuzz
