#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/type.h"

namespace ulpfuzz {

// Legal executions (oracle/oracle.h) of one case on one input set under decisions that are given,
// not drawn: what would a system return that rounds here, keeps a value wide there, and takes this
// branch? Where a system returns just that, to within the accumulation error of its arithmetic, the
// decisions are what it did, or as good as.
//
// Every step is evaluated in double and rounded to float32, or to its nominal dtype where the
// decisions say so; without noise there is nothing random in it. Of the case's functional form,
// gradients included. Thread-safe: const throughout.
class Replay {
 public:
  // Throws Error when the case does not verify. `salt` selects the input set.
  Replay(const Case& lowered, const OpTable& table, std::uint64_t salt);
  ~Replay();
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;

  // A step of the program that is evaluated.
  struct Step {
    std::string name;       // of the node; those of gradients begin with "g_"
    std::string op;         // "aten.mul.Tensor"
    bool backward = false;  // for gradients
    bool again = false;     // computed once more
  };
  const std::vector<Step>& steps() const;

  // A place where legal executions differ: a step sees an intermediate of a half type rounded to
  // that type, or as wide as it was computed (float32). Operands of extern kernels, inputs and
  // results of the program leave no choice; results of extern kernels do, for what is fused into
  // one as its epilogue. Steps may be computed once more for another use, with choices of their
  // own: what the backward pass uses of the forward pass, and steps that do not reduce. Or a step
  // that sees Python numbers in the nominal dtype, or in opmath. The same list for all input sets.
  struct Choice {
    int step = 0;   // that sees it
    int maker = 0;  // step whose result is seen (through views), or -1: of a Python number
    int slot = 0;   // of the value, for this class
    bool extern_result = false;
  };
  const std::vector<Choice>& choices() const;

  // Decisions of a compiler that fuses all pointwise steps and reductions between extern kernels,
  // and keeps values wide inside of what it fused.
  std::vector<bool> fused() const;

  // An element of a step's result takes another value than the one computed; so it does where the
  // step is computed again.
  struct Branch {
    int slot = 0;
    std::int64_t element = 0;  // row-major
    double value = 0;
    auto operator<=>(const Branch&) const = default;
  };

  struct Decisions {
    std::vector<bool> wide;  // by choice
    std::vector<Branch> branches = {};
    // Whole results of steps, by slot: all elements in row-major order.
    std::vector<std::pair<int, std::vector<double>>> given = {};
    // Every result is moved by noise times its own accumulation error (root mean square) times
    // N(0, 1) before it is rounded, and products that are added to may stay unrounded: how far
    // apart two systems that take the same decisions may lie.
    double noise = 0;
    std::uint64_t seed = 0;
    int noisy_step = -1;  // only this one; -1: all
  };

  class Execution;
  class State;  // the values of all steps under some decisions
  using StatePtr = std::shared_ptr<const State>;
  StatePtr run(const Decisions& decisions) const;
  // The same as run(decisions), from a state of other decisions, of which only wide, branches and
  // given may be others.
  StatePtr change(const StatePtr& from, const Decisions& decisions) const;
  static const Decisions& decisions(const State& state);

  // Results parallel to Exact::tensors, before they are stored in their dtype, in row-major order;
  // complex ones two numbers an element, integers as they are. Empty: not there.
  std::size_t results() const;
  std::vector<double> result(const State& state, std::size_t index) const;
  // Does this result certainly stay what it was?
  bool same_result(const State& a, const State& b, std::size_t index) const;
  const TensorType& result_type(std::size_t index) const;
  // Would this choice change anything in this state?
  bool matters(const State& state, std::size_t choice) const;

  // Elements of which exact arithmetic and a legal execution may decide otherwise: comparisons,
  // roundings to integers, indices of extrema. Each is looked at as if all before it had fallen as
  // in exact arithmetic.
  struct Tie {
    int step = 0;
    int slot = 0;
    std::int64_t element = 0;
    double exact = 0;            // what exact arithmetic decides
    std::vector<double> others;  // empty: it is not known what else there might be
  };
  std::vector<Tie> ties(std::size_t most) const;
  double value(const State& state, int slot, std::int64_t element) const;

  // The slot of a value of the case's own program, -1 when the functional form has none.
  int slot_of(const Ref& value) const;
  // Numbers that one evaluation computes, as a measure of its cost.
  std::int64_t work() const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> prepared_;
};

}  // namespace ulpfuzz
