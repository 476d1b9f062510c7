#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/schema.h"
#include "ir/type.h"

namespace ulpfuzz {

class Call;        // ir/call.h: a node with its operands' types
class Backward;    // ir/differentiate.h: a builder of gradient nodes
class Draw;        // generators/draw.h: a builder of random nodes
struct OpKernels;  // oracle/kernel.h: the oracle kernel, one instance a scalar type

// How far a correct implementation may be from exact, beside rounding its result: facts that the
// judge's legal executions use. Errors are in units of the unit roundoff of the operator's opmath
// type, relative to the magnitude of the local error that the oracle kernel itself reports.
struct Numerics {
  // Error of the functions inside (exp, erf, tanh...) in ulps of the result: the largest that a
  // vector library or a compiler's own polynomial is allowed.
  double function_ulps = 0;
  // Runs as a library kernel of its own even in a fusing compiler, so operands and results are
  // always rounded to their nominal dtypes (matmul, convolution, attention, embedding).
  bool extern_kernel = false;
  // Half types may be accumulated in the half type itself (ATen's embedding backward on a CPU).
  bool narrow_accumulator = false;
  // Eager rounds Python numbers to the nominal dtype of the tensor beside them (remainder); others
  // hold them in opmath.
  bool rounds_numbers = false;
  // The result that holds indices of the largest (kLargest) or smallest elements of `self` along
  // `dim`, all dimensions when it is not given; -1: none.
  int arg_result = -1;
  enum class Extremum : std::uint8_t { kLargest, kSmallest } arg_of = Extremum::kLargest;
  // A view: shares storage, rounds nothing.
  bool is_view = false;
};

using TypeRule = std::vector<TensorType> (*)(const Call&);
using DerivativeRule = void (*)(Backward&);
using DrawRule = bool (*)(Draw&);

// Everything ulpfuzz knows of one operator. Adding an operator is adding one row (ops/).
struct OpRow {
  // ATen's schema. The operator's name in a Program follows from it: "aten.add.Tensor".
  std::string_view schema;
  // How a person calls it: "torch.add", or ".sin_" for a method of the first argument. Printed with
  // positional arguments up to the first one left out, keywords after. Public API only.
  // "{self} + {other}"-like templates are allowed: text with {argument names} in braces.
  std::string_view python;
  // Shapes and dtypes of the results, or Error saying why the call is not valid.
  TypeRule infer = nullptr;
  const OpKernels* kernels = nullptr;
  // Gradient nodes for each differentiable operand; null: gradients stop here (as ATen's
  // non-differentiable results do).
  DerivativeRule derivative = nullptr;
  // Puts a random call into a program under construction, or returns false when no operand fits.
  DrawRule draw = nullptr;
  double weight = 1;  // relative frequency in op graphs; 0: never drawn
  Numerics numerics = {};
  // Arguments at which implementations tend to go wrong; mixed into generated inputs.
  std::span<const double> edges = {};
};

// An operator as the program sees it: the row with its parsed schema.
struct Op {
  Schema schema;
  const OpRow* row;
  const std::string& name() const { return schema.name; }
};

// The operators there are. Handed to the verifier, interpreter, generators and reducers.
class OpTable {
 public:
  // Throws Error for a schema that does not parse or a name that appears twice.
  explicit OpTable(std::span<const std::span<const OpRow>> families);
  const Op* find(std::string_view name) const;         // null when unknown
  const Op& at(std::string_view name) const;           // throws Error
  const std::vector<Op>& ops() const { return ops_; }  // in row order

 private:
  std::vector<Op> ops_;
  std::vector<std::size_t> by_name_;  // indices sorted by name
};

}  // namespace ulpfuzz
