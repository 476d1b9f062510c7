#pragma once

#include <map>
#include <string>
#include <vector>

#include "generators/draw.h"
#include "generators/generate.h"
#include "generators/sizes.h"
#include "generators/values.h"
#include "ir/call.h"
#include "ir/case.h"
#include "ir/error.h"

namespace ulpfuzz {

// A draw rule asked for an operand that cannot be had: the call is given up.
class NoOperand : public Error {
 public:
  using Error::Error;
};

// The implementation of Draw: a program that grows call by call.
//
// Sizes come from a handful of values per program, so that shapes match often. Each has a symbol;
// input shapes, and arguments named `size` or `shape`, are written with it.
//
// Thread-compatible. Deterministic in the Random it is given.
class GraphDraw : public Draw {
 public:
  GraphDraw(Random random, const OpTable& table, const Profile& profile);
  // Goes on from a case, whose names become those that are drawn here and whose gradients and
  // circumstances are left out. Throws Error when its program does not verify.
  GraphDraw(Random random, const OpTable& table, const Profile& profile, const Case& begun);
  // Another program behind the one so far, some of its inputs being values of that.
  void append(const Case& other);

  // Lets the operator's rule append one call; false, and nothing changed, when it does not.
  // `connect`: it must also read the result of an earlier node.
  bool add(const Op& op, bool connect = false);

  int nodes() const { return static_cast<int>(state_.program.nodes.size()); }

  // The program so far with what nobody consumes as outputs (and sometimes an intermediate),
  // without what is dead. Throws Error when it has no output.
  Case take();

  Random& random() override { return random_; }
  const TensorType& type(const Ref& ref) const override { return state_.types.of(ref); }
  Ref operand(const Want& want) override;
  Ref operand_of(DType dtype, const Shape& shape) override;
  Ref broadcastable(const Ref& other, bool mixed) override;
  Ref new_input(DType dtype, const Shape& shape, const Fill& fill) override;
  Scalar number(DType dtype) override { return draw_number(random_, dtype); }
  int dim(const Ref& ref) override;
  std::vector<Dim> some_dims(const Ref& ref) override;
  DType floating_dtype() override;
  DType any_dtype() override;
  bool call(std::vector<NamedArgument> args) override;
  Ref also(const std::string& op, std::vector<NamedArgument> args) override;
  const Op& op() const override { return *op_; }

 private:
  struct Value {
    Ref ref;
    int storage = 0;  // index in storages; views share their operand's
    int uses = 0;
    bool input = false;
    bool writable = true;  // a write has one meaning (ir/verify.h)
  };
  struct Storage {
    bool unclear = false;  // some value may lie in it or may be a copy: reshape, contiguous
  };
  struct State {
    Program program;
    std::vector<InputData> inputs;
    Types types;
    std::vector<Value> values;
    std::vector<Storage> storages;
  };

  // Calls of a program whose inputs have values here.
  void replay(const Program& bound, std::map<std::string, Ref> names);
  void symbolise(Node& node) const;
  bool fits(const Value& value, const Want& want) const;
  Ref pick_value(const std::vector<std::size_t>& candidates);
  DType wanted_dtype(const Want& want);
  Shape shape(int min_rank, int max_rank);
  Ref new_tensor(DType dtype, const Shape& shape, bool may_expand);
  Value* find(const Ref& ref);
  bool reads_what_it_writes(const Node& node);
  Value alias_or_new(const Node& node, const Ref& ref);
  void add_results(const Node& node, const std::vector<TensorType>& results);
  std::vector<Ref> choose_outputs();

  Random random_;
  const OpTable& table_;
  const Profile& profile_;
  ValueTaste taste_;
  std::int64_t max_elements_;
  DType main_dtype_;
  bool write_views_;  // in-place operators may write through views too
  Sizes sizes_;
  State state_;
  const Op* op_ = nullptr;
};

}  // namespace ulpfuzz
