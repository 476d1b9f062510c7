// The checks of a whole case, beside those of its program.
#include <algorithm>
#include <map>
#include <set>

#include "ir/alias.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kMaxStorage = std::int64_t{1} << 28;  // elements

// Elements of storage that the layout reaches, from the storage's start.
std::int64_t extent(const Shape& shape, const Shape& strides, std::int64_t offset) {
  std::int64_t last = offset;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return offset;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return kMaxStorage + 1;
    }
  }
  return last + 1;
}

// May two elements lie in one place? Exact for layouts made by permuting, slicing and expanding.
bool overlaps(const Shape& shape, const Shape& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (shape[i] == 0) return false;
    if (shape[i] > 1) dims.emplace_back(strides[i], shape[i]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

class CaseVerifier {
 public:
  CaseVerifier(const Case& c, const OpTable& table, std::string place)
      : case_(c), table_(table), place_(std::move(place)) {}

  Types verify() {
    const Program& program = case_.program;
    if (!is_lowered(case_)) fail(case_.model ? "/model" : "/module", "the case is not lowered");
    types_ = ulpfuzz::verify(program, table_, place_ + "/program");
    if (case_.inputs.size() != program.inputs.size()) {
      fail("/inputs", std::to_string(case_.inputs.size()) + " inputs for a program with " +
                          std::to_string(program.inputs.size()));
    }
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) check_input(i);
    check_wrt();
    check_written();
    check_cotangents();
    return std::move(types_);
  }

 private:
  [[noreturn]] void fail(const std::string& pointer, const std::string& message) const {
    throw Error(place_ + pointer, message);
  }

  std::string input_pointer(std::size_t i) const {
    return "/inputs/" + case_.program.inputs[i].name;
  }

  void check_layout(const TensorType& type, const Shape& strides, std::int64_t offset,
                    const std::string& pointer) const {
    if (strides.empty()) return;
    const std::string at = pointer + "/strides";
    if (strides.size() != type.shape.size()) {
      fail(at, std::to_string(strides.size()) + " strides for " + to_string(type));
    }
    if (std::any_of(strides.begin(), strides.end(), [](std::int64_t s) { return s < 0; })) {
      fail(at, "a stride is negative");
    }
    if (extent(type.shape, strides, offset) > kMaxStorage) {
      fail(at, "the storage has more than 2^28 elements");
    }
  }

  void check_fill_at(const Fill& fill, const TensorType& type, const std::string& pointer) const {
    try {
      check_fill(fill, type.dtype, type.shape);
    } catch (const Error& error) {
      fail(pointer + "/fill", error.what());
    }
  }

  void check_input(std::size_t i) {
    const InputData& input = case_.inputs[i];
    const TensorType& type = types_.of({case_.program.inputs[i].name, 0});
    const std::string pointer = input_pointer(i);
    if (input.offset < 0 || input.offset > kMaxStorage) {
      fail(pointer + "/offset", "an offset is in [0, 2^28]");
    }
    check_layout(type, input.strides, input.offset, pointer);
    check_fill_at(input.fill, type, pointer);
    if (input.alias < 0) return;
    const auto [first, is_new] = classes_.try_emplace(input.alias, i);
    if (!is_new && case_.program.inputs[first->second].dtype != type.dtype) {
      fail(pointer + "/alias", "inputs that share a storage have one dtype");
    }
    if (!is_new) shared_.insert(input.alias);
  }

  void check_wrt() const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < case_.wrt.size(); ++i) {
      const std::string pointer = "/wrt/" + std::to_string(i);
      const ProgramInput* input = case_.program.find_input(case_.wrt[i]);
      if (input == nullptr) fail(pointer, "the program has no input '" + case_.wrt[i] + "'");
      if (is_integral(input->dtype)) fail(pointer, "an integral input has no gradient");
      if (!seen.insert(case_.wrt[i]).second) fail(pointer, "given twice");
    }
    if (!case_.wrt.empty() && !case_.environment.grad) {
      fail("/wrt", "grad mode is off, so there are no gradients");
    }
  }

  // Inputs that the program writes.
  void check_written() const {
    const auto writes = [&](const Node& node) { return table_.at(node.op).schema.mutates(); };
    if (std::ranges::none_of(case_.program.nodes, writes)) return;
    const Aliases aliases(case_.program, table_);
    for (std::size_t n = 0; n < case_.program.nodes.size(); ++n) {
      const Ref* written = aliases.written(case_.program.nodes[n]);
      if (written == nullptr) continue;
      const std::string name = aliases.storage(*written).name;
      for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
        if (case_.program.inputs[i].name == name) check_written_input(i);
      }
    }
  }

  void check_written_input(std::size_t i) const {
    const InputData& input = case_.inputs[i];
    const std::string& name = case_.program.inputs[i].name;
    if (overlaps(types_.of({name, 0}).shape, input.strides)) {
      fail(input_pointer(i) + "/strides", "elements overlap, and the program writes them");
    }
    if (shared_.contains(input.alias)) {
      fail(input_pointer(i) + "/alias", "the program writes an input that shares its storage");
    }
    if (std::find(case_.wrt.begin(), case_.wrt.end(), name) != case_.wrt.end()) {
      fail("/wrt", "the program writes " + name + ", a leaf that requires a gradient");
    }
  }

  void check_cotangents() const {
    const std::vector<Ref>& outputs = case_.program.outputs;
    bool any = false;
    for (std::size_t i = 0; i < case_.cotangents.size(); ++i) {
      if (!case_.cotangents[i]) continue;
      any = true;
      const std::string pointer = "/cotangents/" + std::to_string(i);
      if (i >= outputs.size()) fail(pointer, "the program has no such output");
      const TensorType& type = types_.of(outputs[i]);
      if (is_integral(type.dtype)) fail(pointer, "the output is of " + to_string(type));
      check_layout(type, case_.cotangents[i]->strides, 0, pointer);
      check_fill_at(case_.cotangents[i]->fill, type, pointer);
    }
    if (case_.wrt.empty()) {
      if (any) fail("/cotangents", "there is nothing to differentiate by: wrt is empty");
      return;
    }
    if (case_.cotangents.size() != outputs.size()) {
      fail("/cotangents", std::to_string(case_.cotangents.size()) + " cotangents for " +
                              std::to_string(outputs.size()) + " outputs");
    }
    if (!any) fail("/cotangents", "no output receives a gradient");
  }

  const Case& case_;
  const OpTable& table_;
  std::string place_;
  Types types_;
  std::map<int, std::size_t> classes_;  // alias class: its first input
  std::set<int> shared_;                // alias classes of more than one input
};

}  // namespace

Types verify(const Case& c, const OpTable& table, const std::string& place) {
  return CaseVerifier(c, table, pointer_root(place)).verify();
}

}  // namespace ulpfuzz
