#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/call.h"
#include "ir/op_row.h"
#include "ir/program.h"

namespace ulpfuzz {

// The functionalised forward program followed by its gradient, as one Program.
struct Differentiated {
  Program program;  // inputs: the forward's, then one cotangent input an output that has one
  std::vector<Ref> outputs;    // forward outputs (also program.outputs, in front)
  std::vector<Ref> gradients;  // one for each wrt; empty name: the gradient is not there (None)
  std::vector<std::string> written_inputs;  // appended to program.outputs after the outputs
};

// Reverse mode by rows' derivative rules. `has_cotangent[i]`: output i receives a cotangent, an
// input named "cotangent_i" of the output's dtype and shape. program.outputs of the result:
// forward outputs, written inputs, then the gradients that are there.
Differentiated differentiate(const Program& program, const std::vector<std::string>& wrt,
                             const std::vector<bool>& has_cotangent, const OpTable& table);

// What a derivative rule works with: the forward call, the gradients of its outputs, and a way to
// append nodes. Gradients have the dtype and shape of what they belong to.
class Backward {
 public:
  const Call& call() const;
  Ref input(std::string_view arg) const;         // the forward operand
  Ref output(int index = 0) const;               // the forward result
  const TensorType& type(const Ref& ref) const;  // of any value, forward or emitted
  bool needs(std::string_view arg) const;        // a gradient is wanted for this operand
  bool needs(std::string_view arg, std::size_t index) const;  // for an element of a list operand
  bool has_gradient(int output = 0) const;                    // the output received one
  Ref gradient(int output = 0);                               // zeros when it received none

  // Appends a call; returns its first output. Arguments in any order, by schema name.
  Ref emit(const std::string& op, std::vector<NamedArgument> args);
  Ref emit_output(const Ref& first, int output) const { return {first.name, output}; }

  // Adds to the operand's gradient (after summing it down to the operand's shape where it was
  // broadcast, and converting to the operand's dtype).
  void contribute(std::string_view arg, const Ref& gradient);
  void contribute(std::string_view arg, std::size_t index, const Ref& gradient);

 private:
  friend class Differentiator;
  explicit Backward(class Differentiator& owner) : owner_(owner) {}
  class Differentiator& owner_;
};

}  // namespace ulpfuzz
