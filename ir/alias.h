#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/op_row.h"
#include "ir/program.h"

namespace ulpfuzz {

// How the values of a program share storage, by the operators' schemas. Every value has at most one
// source, so storages form trees. The program, which must outlive this, need not verify: references
// that lead forward are no sources.
class Aliases {
 public:
  Aliases(const Program& program, const OpTable& table);

  enum class How : std::uint8_t {
    kSame,   // the very tensor: the result of an in-place operator
    kView,   // a view, always
    kMaybe,  // ATen may return a view or a copy, by layout: reshape, contiguous, .to
  };
  struct Source {
    Ref value;
    How how;
    const Node* node;  // that made the alias
    const Op* op;
  };
  std::optional<Source> source(const Ref& value) const;  // nullopt: a storage of its own

  Ref tensor(Ref value) const;   // the value that is the same tensor
  Ref storage(Ref value) const;  // the value whose storage this one certainly lies in
  Ref origin(Ref value) const;   // the value whose storage this one may lie in

  // The operand that the node writes into, nullptr when it writes none.
  const Ref* written(const Node& node) const;

 private:
  struct Definition {
    const Node* node;
    const Op* op;
  };
  std::map<std::string, Definition, std::less<>> definitions_;
};

// The out-of-place operator of an in-place one: "aten.sin_.default" -> "aten.sin.default"; empty
// when `op` is not an in-place operator.
std::string out_of_place(std::string_view op);

}  // namespace ulpfuzz
