#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "judge/judge.h"

namespace ulpfuzz {

// Why one system's results differ from eager's, on one case and one input set (docs/causes.md).

struct CauseOptions {
  SystemSpec system;
  std::uint64_t input_set = 0;  // the one that is explained
  // What that one leaves open is decided by these, one after the other.
  std::vector<std::uint64_t> further = {1, 2, 3};
  std::uint64_t held_out = 4;  // what was found on the others must hold on this one
  // What the search may cost: replays of the program, and numbers that they compute in all.
  int evaluations = 4000;
  std::int64_t work = 4'000'000'000;
};

enum class CauseKind : std::uint8_t {
  kSame,             // bit for bit eager's: nothing to explain
  kReordered,        // eager's roundings, and accumulation error
  kExcessPrecision,  // an assignment of rounded and wide reproduces the results
  kDiscontinuity,    // so does it with near-ties that fell the other way
  kUnexplained,      // no legal execution that was tried gives these results
};
std::string_view name(CauseKind kind);  // "excess-precision"

// An intermediate that the system must have seen unrounded.
struct KeptWide {
  std::string value, value_op;  // empty: the Python numbers of `into`
  std::string into, into_op;    // the step that sees it
  bool backward = false;        // `into` is a step of the gradients
  bool again = false;           // or one of the forward pass that is computed again for them
  bool extern_result =
      false;  // `value` comes from an extern kernel, of which `into` is an epilogue
  // Of the squared distance to eager's roundings, on the tensor where that distance is largest in
  // units of accumulation error: the share that this use alone takes away.
  double share = 0;
  // What is left, in units of a tensor's accumulation error, when this use alone is rounded again.
  double without = 0;
};

// A near-tie that did not fall as in exact arithmetic.
struct TakenBranch {
  std::string node, op;
  std::int64_t element = 0;  // of the node's result, row-major
  double exact = 0, taken = 0;
  // It must be set by hand for the replay to give the system's results; otherwise it follows from
  // the roundings.
  bool forced = false;
};

struct TensorCause {
  std::string tensor;
  double difference = 0;  // RMS of system - eager
  // RMS of what a replay leaves between itself and the system's results, beyond the half ulp of
  // storing them: with eager's roundings, and with the decisions that were found.
  double nominal = 0, residual = 0;
  double noise = 0;  // accumulation error of the latter replay, root mean square
  bool reproduced = false;
  std::string dominant;  // node whose accumulation error is the largest part of the noise
  double share = 0;      // of its square
};

// The first intermediate that lies outside what legal executions can give.
struct Diverging {
  std::string node, op;
  std::string rung;
  std::string strength;  // "bound", "statistical", as Fact
  std::string detail;
  // How it was seen: intermediates as further outputs of the program; else as the only output.
  bool outputs_added = false;
  // The outputs that the program had keep their bits beside the added ones.
  bool same_bits = false;
  // With this node's value as the system has it, all else is reproduced (absent: not tried).
  std::optional<bool> alone = {};
};

struct Causes {
  std::string system;
  std::uint64_t input_set = 0;
  CauseKind kind = CauseKind::kUnexplained;
  // The decisions reproduce the results of another input set too, that the search did not see
  // (absent: there was none, or the near-ties of each set are its own).
  std::optional<bool> held_out = {};
  std::vector<KeptWide> wide = {};
  std::vector<TakenBranch> branches = {};
  std::vector<TensorCause> tensors = {};
  std::optional<Diverging> first = {};
  std::vector<std::string> notes = {};  // what was not looked at, and why
  int choices = 0;                      // that legal executions have
  int evaluations = 0;                  // replays
  double cpu_seconds = 0;               // of this process
};
std::string to_json(const Causes& causes);

// From evidence to causes. Pure, in steps, as Judge: the same case, options and evidence give the
// same answer. Runs of the system and of eager on the very case are taken from the evidence
// wherever they have the input sets.
class CauseSearch {
 public:
  CauseSearch(const Case& lowered, CauseOptions options, const OpTable& table);

  struct Step {
    std::vector<RunRequest> requests;  // runs still needed; empty: `answer` is there
    std::optional<Causes> answer;
  };
  Step next(const std::vector<Evidence>& evidence) const;

 private:
  class Memory;
  void attribute_to_node(const std::vector<Evidence>& evidence, const Execution& mine) const;
  Case case_;
  CauseOptions options_;
  const OpTable& table_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace ulpfuzz
