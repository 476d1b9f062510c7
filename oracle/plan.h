#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/call.h"
#include "ir/op_row.h"
#include "ir/program.h"
#include "oracle/scalar.h"

namespace ulpfuzz {

// A program with everything resolved that does not depend on values, so that it can be evaluated
// many times. Every value, (name, output), has a slot: those of the inputs come first, in order.
//
// Refers to the program and the table, which must outlive it.
class Plan {
 public:
  static constexpr int kNone = -1;    // None in a list of tensors
  static constexpr int kNumber = -2;  // a Python number in a tensor slot

  struct Operand {
    int slot = kNone;
    Scalar number;
  };
  struct BoundArgument {
    std::string_view name;
    bool written = false;  // by the schema: Tensor(a!)
    std::vector<Operand> operands;
  };
  struct Step {
    const Op* op;
    Call call;
    std::vector<TensorType> results;
    std::vector<BoundArgument> args;  // those that hold tensors, or numbers in tensor slots
    int first_slot;                   // of the results, consecutive
    DType compute;                    // floating dtype whose opmath the step computes in
    ErrorModel model;                 // of that opmath; mode kBound
    bool converts;                    // a conversion of dtype and nothing else, which rounds once
  };

  // kOpmath: every value of a half type, and all that is computed with it, has its opmath type
  // instead, in the same slots.
  enum class Halves : std::uint8_t { kNominal, kOpmath };

  // Throws Error where the operator is unknown, has no kernel, or refuses its operands.
  Plan(const Program& program, const OpTable& table, Halves halves = Halves::kNominal);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Program& program() const { return program_; }
  const std::vector<Step>& steps() const { return steps_; }
  int slots() const { return static_cast<int>(types_of_slots_.size()); }
  int slot(const Ref& ref) const;  // throws Error when unknown
  const TensorType& type(int slot) const { return types_of_slots_[static_cast<std::size_t>(slot)]; }
  bool has_float64() const;  // some floating or complex value has 53 bits

 private:
  const Program& program_;
  Types types_;
  std::map<std::string, int, std::less<>> first_slots_;
  std::vector<TensorType> types_of_slots_;
  std::vector<Step> steps_;
};

}  // namespace ulpfuzz
