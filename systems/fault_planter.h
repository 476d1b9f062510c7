#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/call.h"
#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// What faults of the program are written with: a case under change. Operators are named as in a
// Program ("aten.add.Tensor") where they are looked for, without "aten." where they are called.
class Planter {
 public:
  Planter(Case bound, const OpTable& table);

  const Case& test() const { return case_; }
  const OpTable& table() const { return table_; }
  std::vector<Node>& nodes() { return case_.program.nodes; }
  std::vector<Ref>& outputs() { return case_.program.outputs; }

  // Of any value of the program as it stands, which must verify then.
  const TensorType& type(const Ref& ref) { return types().of(ref); }
  std::vector<Ref> results(const Node& node);
  // The tensor that an argument is given; nothing for a number, a list or None.
  static std::optional<Ref> tensor(const Node& node, std::string_view arg);
  const Op& op(const Node& node) const { return table_.at(node.op); }

  // Sets an argument, in the place that the schema gives it.
  void set(Node& node, const std::string& arg, Argument value);
  // Nodes from number `beyond` on that use `from` use `to`; with `outputs`, so does the program.
  void redirect(const Ref& from, const Ref& to, std::size_t beyond, bool outputs = true);
  // Puts a node in front of node `at`; returns its value, named after `stem`.
  Ref insert(std::size_t at, const std::string& stem, const std::string& op,
             std::vector<NamedArgument> args);
  // Is the node's first result an operand of such an operator?
  bool feeds(const Node& node, std::string_view op) const;

  // The case as it is now, without what has died.
  Case take() &&;

 private:
  const Types& types();

  Case case_;
  const OpTable& table_;
  std::optional<Types> types_;  // as of the last change
};

// Calls that go in at one place, one after the other.
class Insertion {
 public:
  Insertion(Planter& planter, std::size_t at, std::string stem)
      : planter_(planter), at_(at), stem_(std::move(stem)) {}
  Ref call(const std::string& op, std::vector<NamedArgument> args);
  Ref call(const std::string& op, const Ref& self) { return call(op, {{"self", self}}); }
  // `other`: a Ref or a Scalar.
  Ref call(const std::string& op, const Ref& self, Argument other) {
    return call(op, {{"self", self}, {"other", std::move(other)}});
  }
  Ref cast(const Ref& self, DType dtype) {
    return call("to.dtype", {{"self", self}, {"dtype", dtype}});
  }
  std::size_t at() const { return at_; }  // of the node that comes after

 private:
  Planter& planter_;
  std::size_t at_;
  std::string stem_;
  int calls_ = 0;
};

inline bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

}  // namespace ulpfuzz
