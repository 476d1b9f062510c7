#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"

namespace ulpfuzz {

// A value of a Program: an input (output 0), or one output of a node, by name.
struct Ref {
  std::string name;  // empty: None, in a list of optional tensors
  int output = 0;
  auto operator<=>(const Ref&) const = default;
};

// A Python number in a Number or Tensor slot. It takes part in type promotion as a wrapped number,
// by its category only.
struct Scalar {
  std::variant<bool, std::int64_t, double> value;
  double as_double() const;
  std::int64_t as_integer() const;             // throws Error for a non-integral double
  bool operator==(const Scalar& other) const;  // to the bit: NaN is itself, -0.0 is not 0.0
};

// What a schema argument is given.
using Argument = std::variant<std::monostate,    // None
                              Ref,               // Tensor
                              std::vector<Ref>,  // Tensor[], Tensor?[]
                              Dim,               // int, SymInt
                              std::vector<Dim>,  // int[], SymInt[]
                              double,            // float
                              bool,              // bool
                              DType,             // ScalarType
                              std::string,       // str
                              Scalar>;           // Scalar, or a number in a Tensor slot

struct NamedArgument {
  std::string name;  // as in the schema
  Argument value;
  bool operator==(const NamedArgument& other) const;  // floats to the bit
};

// One call of an ATen operator.
struct Node {
  std::string name;  // unique in the Program, an identifier
  std::string op;    // full schema name: "aten.argmax.default"
  // By name, in any order; one that is absent has the schema's default. (JSON does not keep an
  // order, so none may matter.)
  std::vector<NamedArgument> args;

  const Argument* find(std::string_view arg) const;  // null when absent
  bool operator==(const Node& other) const;          // whatever the order of arguments
};

struct ProgramInput {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<Dim> shape;
  bool operator==(const ProgramInput&) const = default;
};

enum class Level : std::uint8_t {
  kPreDispatch,  // what torch.export keeps: composites whole, the system differentiates
  kJoint,        // AOTAutograd's joint graph, for diagnosis
};

// A straight-line program in SSA form over ATen operators. The list order is the execution order;
// aliasing and mutation are what the operators' schemas say.
struct Program {
  Level level = Level::kPreDispatch;
  Symbols symbols;
  std::vector<ProgramInput> inputs;
  std::vector<Node> nodes;
  std::vector<Ref> outputs;

  const Node* find_node(std::string_view name) const;
  const ProgramInput* find_input(std::string_view name) const;
  bool operator==(const Program&) const = default;
};

// Every tensor that `node` reads or writes, in the order of its arguments; None entries left out.
std::vector<Ref> operands(const Node& node);

// Every reference to a value replaced by what `rename` says of it.
template <class Rename>
void rename_operands(Node& node, const Rename& rename) {
  for (NamedArgument& arg : node.args) {
    if (auto* ref = std::get_if<Ref>(&arg.value)) *ref = rename(*ref);
    if (auto* refs = std::get_if<std::vector<Ref>>(&arg.value)) {
      for (Ref& ref : *refs) {
        if (!ref.name.empty()) ref = rename(ref);
      }
    }
  }
}

// The same program with every size a number.
Program bind_symbols(const Program& program);

}  // namespace ulpfuzz
