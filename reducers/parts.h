#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/verify.h"
#include "oracle/oracle.h"
#include "reducers/edit.h"

// Parts of a program as programs of their own, for the passes over nodes.
namespace ulpfuzz {

// What a program computes for its intermediate values, so that a value can be replaced by an input
// that holds the same numbers.
class Intermediates {
 public:
  Intermediates(const Case& c, const OpTable& table, const Types& types);

  const TensorType& type(const Ref& value) const { return types_.of(value); }

  // A value's own numbers where they are known and few (or `own` is false), else a bell curve.
  Fill fill(const Ref& value, bool own) const;

 private:
  const Types& types_;
  Exact exact_;
  std::map<Ref, std::size_t> index_;
};

// Collects the parts of one program: what comes from elsewhere becomes an input, what leaves a part
// an output. Parts that are no programs are left out.
class Parts {
 public:
  Parts(const Case& c, const OpTable& table);

  const std::vector<Node>& nodes() const { return case_.program.nodes; }
  std::size_t size() const { return nodes().size(); }
  const Types& types() const { return types_; }

  // Nodes [first, last) alone; what leaves them becomes an output. `own`: inputs hold the numbers
  // that the program computed, else bell curves.
  void keep(std::size_t first, std::size_t last, bool own);
  // The program without nodes [first, last); what they made becomes inputs.
  void drop(std::size_t first, std::size_t last, bool own);
  // One node's results as the only outputs, with all that leads to them.
  void ancestors(const Node& node);
  // Uses of a node's first result see one of its operands of the same type instead.
  void bypass(const Node& node);

  std::vector<Case> take() { return std::move(candidates_); }

 private:
  bool made_in(const Ref& value, std::size_t first, std::size_t last) const;
  void add(Case c);
  template <class Keep>
  Case with_some_outputs(const Keep& keep_output, const std::vector<Ref>& more) const;
  Case with_inputs(Case c, bool own) const;

  const Case& case_;
  const OpTable& table_;
  const Types types_;
  const Intermediates values_;
  std::map<std::string, std::size_t> position_;
  std::vector<Case> candidates_;
};

}  // namespace ulpfuzz
