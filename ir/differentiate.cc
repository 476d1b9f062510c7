#include "ir/differentiate.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/error.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {

// The work of differentiate(): a program that grows at its end, and the gradients so far.
class Differentiator {
 public:
  Differentiator(Functional forward, const OpTable& table)
      : forward_(std::move(forward.program)),
        program_(forward_),
        table_(table),
        types_(verify(forward_, table)) {
    for (const ProgramInput& input : forward_.inputs) names_.insert(input.name);
    for (const Node& node : forward_.nodes) names_.insert(node.name);
  }

  // Values that depend on `wrt` through operators with a derivative.
  void mark(const std::vector<std::string>& wrt) {
    for (const std::string& name : wrt) needed_.insert({name, 0});
    for (const Node& node : forward_.nodes) {
      if (table_.at(node.op).row->derivative == nullptr) continue;
      const std::vector<Ref> read = operands(node);
      if (std::none_of(read.begin(), read.end(), [this](const Ref& ref) { return needs(ref); })) {
        continue;
      }
      for (int i = 0; i < types_.outputs(node.name); ++i) {
        if (!is_integral(types_.of({node.name, i}).dtype)) needed_.insert({node.name, i});
      }
    }
  }

  void seed(std::size_t output) {
    const Ref ref = forward_.outputs[output];
    const TensorType type = types_.of(ref);
    const std::string name = "cotangent_" + std::to_string(output);
    if (!names_.insert(name).second) throw Error(name, "the program has a value of this name");
    program_.inputs.push_back(
        {name, type.dtype, std::vector<Dim>(type.shape.begin(), type.shape.end())});
    types_.set(name, {type});
    accumulate(ref, {name, 0});
  }

  void run() {
    for (std::size_t i = forward_.nodes.size(); i-- > 0;) {
      node_ = &forward_.nodes[i];
      bool any = false;
      for (int output = 0; output < types_.outputs(node_->name); ++output) {
        any = any || (needs({node_->name, output}) && gradients_.contains({node_->name, output}));
      }
      if (!any) continue;
      const Op& op = table_.at(node_->op);
      const Call call(op, *node_, forward_.symbols, types_);
      call_ = &call;
      Backward backward(*this);
      op.row->derivative(backward);
      call_ = nullptr;
    }
  }

  Differentiated finish(const std::vector<std::string>& wrt, std::size_t outputs,
                        std::vector<std::string> written_inputs) {
    Differentiated result;
    result.outputs.assign(forward_.outputs.begin(),
                          forward_.outputs.begin() + static_cast<std::ptrdiff_t>(outputs));
    for (const std::string& name : wrt) {
      const auto found = gradients_.find({name, 0});
      result.gradients.push_back(found == gradients_.end() ? Ref() : found->second);
      if (found != gradients_.end()) program_.outputs.push_back(found->second);
    }
    result.written_inputs = std::move(written_inputs);
    result.program = std::move(program_);
    return result;
  }

  const Call& call() const { return *call_; }
  const Node& node() const { return *node_; }
  const TensorType& type(const Ref& ref) const { return types_.of(ref); }
  bool needs(const Ref& ref) const { return needed_.contains(ref); }

  bool has_gradient(const Ref& ref) const { return gradients_.contains(ref); }

  Ref gradient(const Ref& ref) {
    const auto found = gradients_.find(ref);
    if (found != gradients_.end()) return found->second;
    const Ref zeros = emit("aten.zeros_like.default", {{"self", ref}});
    gradients_[ref] = zeros;
    return zeros;
  }

  Ref emit(const std::string& op_name, std::vector<NamedArgument> args) {
    const Op* op = table_.find(op_name);
    if (op == nullptr) {
      throw Error(node_->op, "its derivative needs " + op_name + ", which has no row");
    }
    Node node{fresh("g_" + node_->name), op_name, std::move(args)};
    types_.set(node.name, op->row->infer(Call(*op, node, program_.symbols, types_)));
    program_.nodes.push_back(std::move(node));
    return {program_.nodes.back().name, 0};
  }

  // Adds `gradient` to that of the operand `ref`.
  void contribute(const Ref& ref, Ref gradient) {
    if (!needs(ref)) return;
    const TensorType wanted = types_.of(ref);
    if (types_.of(gradient).shape != wanted.shape) gradient = sum_to(gradient, wanted.shape);
    const DType dtype = types_.of(gradient).dtype;
    if (is_complex(dtype) && !is_complex(wanted.dtype)) {
      gradient = emit("aten.real.default", {{"self", gradient}});
    }
    if (types_.of(gradient).dtype != wanted.dtype) {
      gradient = emit("aten._to_copy.default", {{"self", gradient}, {"dtype", wanted.dtype}});
    }
    accumulate(ref, gradient);
  }

 private:
  void accumulate(const Ref& ref, const Ref& gradient) {
    const auto [found, is_new] = gradients_.try_emplace(ref, gradient);
    if (is_new) return;
    found->second = node_ == nullptr
                        ? add_seeds(found->second, gradient)
                        : emit("aten.add.Tensor", {{"self", found->second}, {"other", gradient}});
  }

  // A value that is an output twice: before any node has been visited.
  Ref add_seeds(const Ref& first, const Ref& second) {
    static const Node kSeeds{"outputs", "", {}};
    node_ = &kSeeds;
    const Ref sum = emit("aten.add.Tensor", {{"self", first}, {"other", second}});
    node_ = nullptr;
    return sum;
  }

  // Sums over the dimensions in which `shape` was broadcast.
  Ref sum_to(const Ref& gradient, const Shape& shape) {
    const Shape from = types_.of(gradient).shape;
    if (from.size() < shape.size()) {
      throw Error(node_->name, "its derivative gave " + to_string(types_.of(gradient)) +
                                   " for an operand of rank " + std::to_string(shape.size()));
    }
    const std::size_t added = from.size() - shape.size();
    std::vector<Dim> dims;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool summed = i < added || (shape[i - added] == 1 && from[i] != 1);
      if (summed) dims.emplace_back(static_cast<std::int64_t>(i));
      if (!summed && from[i] != shape[i - added]) {
        throw Error(node_->name, "its derivative gave " + to_string(types_.of(gradient)) +
                                     ", which does not sum down to its operand");
      }
    }
    const Ref sum =
        emit("aten.sum.dim_IntList", {{"self", gradient}, {"dim", dims}, {"keepdim", true}});
    if (added == 0) return sum;
    return emit("aten.reshape.default",
                {{"self", sum}, {"shape", std::vector<Dim>(shape.begin(), shape.end())}});
  }

  std::string fresh(const std::string& stem) {
    std::string name = stem;
    for (int i = 2; !names_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
    return name;
  }

  const Program forward_;
  Program program_;
  const OpTable& table_;
  Types types_;  // of the forward program and of what was emitted
  std::set<std::string> names_;
  std::set<Ref> needed_;
  std::map<Ref, Ref> gradients_;
  const Node* node_ = nullptr;  // whose derivative is being taken
  const Call* call_ = nullptr;
};

namespace {

const Ref& element(const Call& call, std::string_view arg, std::size_t index) {
  const std::vector<Ref>& refs = call.refs(arg);
  if (index >= refs.size()) call.fail("argument '" + std::string(arg) + "' is a shorter list");
  return refs[index];
}

}  // namespace

const Call& Backward::call() const { return owner_.call(); }

Ref Backward::input(std::string_view arg) const { return call().ref(arg); }

Ref Backward::output(int index) const { return {owner_.node().name, index}; }

const TensorType& Backward::type(const Ref& ref) const { return owner_.type(ref); }

bool Backward::needs(std::string_view arg) const {
  return call().is_tensor(arg) && owner_.needs(call().ref(arg));
}

bool Backward::needs(std::string_view arg, std::size_t index) const {
  return owner_.needs(element(call(), arg, index));
}

bool Backward::has_gradient(int output) const { return owner_.has_gradient(this->output(output)); }

Ref Backward::gradient(int output) { return owner_.gradient(this->output(output)); }

Ref Backward::emit(const std::string& op, std::vector<NamedArgument> args) {
  return owner_.emit(op, std::move(args));
}

void Backward::contribute(std::string_view arg, const Ref& gradient) {
  if (call().is_tensor(arg)) owner_.contribute(call().ref(arg), gradient);
}

void Backward::contribute(std::string_view arg, std::size_t index, const Ref& gradient) {
  owner_.contribute(element(call(), arg, index), gradient);
}

Differentiated differentiate(const Program& program, const std::vector<std::string>& wrt,
                             const std::vector<bool>& has_cotangent, const OpTable& table) {
  Functional forward = functionalise(program, table);
  std::vector<std::string> written = forward.written_inputs;
  Differentiator differentiator(std::move(forward), table);
  differentiator.mark(wrt);
  for (std::size_t i = 0; i < has_cotangent.size(); ++i) {
    if (has_cotangent[i]) differentiator.seed(i);
  }
  differentiator.run();
  return differentiator.finish(wrt, program.outputs.size(), std::move(written));
}

}  // namespace ulpfuzz
