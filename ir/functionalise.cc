#include <map>
#include <set>

#include "ir/alias.h"
#include "ir/call.h"
#include "ir/error.h"
#include "ir/inverse_view.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

// Replays a program without writes. For each tensor that was written, and each view of one, it
// keeps the value that stands for it now; a view that has become stale is taken again when it is
// next used.
class Functionaliser {
 public:
  Functionaliser(const Program& program, const OpTable& table)
      : program_(program), table_(table), aliases_(program, table), types_(verify(program, table)) {
    result_ = program;
    result_.nodes.clear();
    for (const ProgramInput& input : program.inputs) names_.insert(input.name);
    for (const Node& node : program.nodes) names_.insert(node.name);
  }

  Functional run() {
    for (const Node& node : program_.nodes) {
      if (const Ref* written = aliases_.written(node)) {
        write(node, *written);
      } else {
        Node again = node;
        rename_operands(again, [this](const Ref& ref) { return current(ref); });
        result_.nodes.push_back(std::move(again));
        for (int i = 0; i < types_.outputs(node.name); ++i) settle({node.name, i}, {node.name, i});
      }
    }
    for (Ref& ref : result_.outputs) ref = current(ref);
    Functional functional{std::move(result_), {}};
    for (const ProgramInput& input : program_.inputs) {
      const Ref ref{input.name, 0};
      if (versions_[ref] == 0) continue;
      functional.program.outputs.push_back(current(ref));
      functional.written_inputs.push_back(input.name);
    }
    return functional;
  }

 private:
  // What stands for a value, as of which write into its storage.
  struct Standing {
    Ref value;
    int version = 0;
  };

  void settle(const Ref& tensor, const Ref& value) {
    standing_[tensor] = {value, versions_[aliases_.storage(tensor)]};
  }

  // The value that stands for `ref` after all writes so far.
  Ref current(const Ref& ref) {
    const Ref tensor = aliases_.tensor(ref);
    const int version = versions_[aliases_.storage(tensor)];
    const auto found = standing_.find(tensor);
    if (found == standing_.end() && version == 0) return tensor;  // an input as it came
    if (found != standing_.end() && found->second.version == version) return found->second.value;
    // A view of something that was written since.
    const Aliases::Source view = *aliases_.source(tensor);
    Node again = *view.node;
    rename_operands(again, [&](const Ref& operand) { return current(operand); });
    again.name = fresh(view.node->name);
    const Ref value{again.name, tensor.output};
    result_.nodes.push_back(std::move(again));
    settle(tensor, value);
    return value;
  }

  void write(const Node& node, const Ref& written) {
    Node functional = node;
    functional.op = out_of_place(node.op);
    rename_operands(functional, [this](const Ref& ref) { return current(ref); });
    const TensorType& type = types_.of(written);
    const TensorType given = infer(functional);
    result_.nodes.push_back(std::move(functional));
    Ref value{node.name, 0};
    if (given.dtype != type.dtype) {  // the in-place operator converts its result
      value = emit(node.name, "aten._to_copy.default", {{"self", value}, {"dtype", type.dtype}});
    }
    if (given.shape != type.shape) throw Error(node.name, "writes a tensor of another shape");
    const Ref tensor = aliases_.tensor(written);
    ++versions_[aliases_.storage(tensor)];
    store(tensor, value);
  }

  // `value` is what `tensor` holds now; so what it is a view of changes, up to the storage.
  void store(const Ref& tensor, Ref value) {
    const std::optional<Aliases::Source> from = aliases_.source(tensor);
    if (from && from->how == Aliases::How::kView) {
      const Ref base = aliases_.tensor(from->value);
      const Ref before = before_write(base);
      const Call view(*from->op, *from->node, program_.symbols, types_);
      std::vector<NamedArgument> args = inverse_arguments(view, before, value);
      const std::string op = inverse_view(from->op->name(), table_);
      store(base, args.empty() ? value : emit(base.name, op, std::move(args)));
    }
    settle(tensor, value);
  }

  // The base of a view that was just written, as it was before.
  Ref before_write(const Ref& tensor) {
    int& version = versions_[aliases_.storage(tensor)];
    --version;
    const Ref value = current(tensor);
    ++version;
    return value;
  }

  // Types of what was emitted are those of the calls' own rules; operands have kept theirs.
  TensorType infer(const Node& node) {
    Types& types = emitted_types();
    return table_.at(node.op).row->infer(
        Call(table_.at(node.op), node, program_.symbols, types))[0];
  }

  // Types of the result so far, brought up to date.
  Types& emitted_types() {
    if (typed_ == 0) {
      for (const ProgramInput& input : result_.inputs) {
        result_types_.set(input.name, {types_.of({input.name, 0})});
      }
    }
    for (; typed_ < result_.nodes.size(); ++typed_) {
      const Node& node = result_.nodes[typed_];
      const Op& op = table_.at(node.op);
      result_types_.set(node.name, op.row->infer(Call(op, node, program_.symbols, result_types_)));
    }
    return result_types_;
  }

  Ref emit(const std::string& stem, const std::string& op, std::vector<NamedArgument> args) {
    if (table_.find(op) == nullptr) throw Error(stem, "the operator table has no " + op);
    Node node{fresh(stem), op, std::move(args)};
    const Ref value{node.name, 0};
    result_.nodes.push_back(std::move(node));
    return value;
  }

  std::string fresh(const std::string& stem) {
    std::string name = stem;
    for (int i = 2; !names_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
    return name;
  }

  const Program& program_;
  const OpTable& table_;
  Aliases aliases_;
  Types types_;  // of the program that is rewritten
  Program result_;
  Types result_types_;
  std::size_t typed_ = 0;  // nodes of the result whose types are in result_types_
  std::set<std::string> names_;
  std::map<Ref, int> versions_;       // writes so far into a storage
  std::map<Ref, Standing> standing_;  // by tensor
};

}  // namespace

Functional functionalise(const Program& program, const OpTable& table) {
  return Functionaliser(program, table).run();
}

}  // namespace ulpfuzz
