#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "ir/op_row.h"
#include "ir/program.h"
#include "ir/type.h"

namespace ulpfuzz {

// Types of a program's values, in the order of definition.
class Types {
 public:
  const TensorType& of(const Ref& ref) const;  // throws Error when unknown
  bool has(const Ref& ref) const;
  void set(const std::string& name, std::vector<TensorType> outputs);
  int outputs(std::string_view name) const;  // 0 when unknown

 private:
  std::map<std::string, std::vector<TensorType>, std::less<>> types_;
};

// One call of an operator with its arguments resolved: what type rules, kernels and derivative
// rules read. Arguments are asked for by schema name; an absent one gives the schema's default.
// Asking for a kind that the argument does not have throws Error naming node and argument.
class Call {
 public:
  Call(const Op& op, const Node& node, const Symbols& symbols, const Types& types)
      : op_(op), node_(node), symbols_(symbols), types_(types) {}

  const Op& op() const { return op_; }
  const Node& node() const { return node_; }

  bool given(std::string_view arg) const;      // present and not None
  bool is_tensor(std::string_view arg) const;  // given as a tensor, not as a number
  const Ref& ref(std::string_view arg) const;
  const std::vector<Ref>& refs(std::string_view arg) const;  // empty names: None
  const TensorType& tensor(std::string_view arg) const;
  const TensorType& type(const Ref& ref) const { return types_.of(ref); }
  std::int64_t integer(std::string_view arg) const;
  std::vector<std::int64_t> integers(std::string_view arg) const;  // None: empty; int: one element
  double floating(std::string_view arg) const;                     // accepts an integer too
  bool boolean(std::string_view arg) const;
  DType dtype(std::string_view arg) const;
  const std::string& string(std::string_view arg) const;
  Scalar scalar(std::string_view arg) const;

  [[noreturn]] void fail(const std::string& message) const;  // throws Error at this node

 private:
  const Argument& argument(std::string_view arg) const;
  const Op& op_;
  const Node& node_;
  const Symbols& symbols_;
  const Types& types_;
};

}  // namespace ulpfuzz
