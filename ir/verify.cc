#include "ir/verify.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "ir/error.h"
#include "ir/json.h"
#include "ir/writes.h"

namespace ulpfuzz {
namespace {

using Kind = SchemaArgument::Kind;

constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kMaxInputs = 1024;
constexpr std::size_t kMaxOutputs = 1024;
constexpr std::size_t kMaxRank = 16;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 28;
constexpr std::int64_t kMaxSymbol = std::int64_t{1} << 31;

// Names that mean something in the Python that programs are printed as.
constexpr std::array<std::string_view, 39> kReserved{
    "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
    "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
    "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
    "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
    "while",   "with",     "yield",    "torch",  "F",    "float",  "_"};

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > 64 || std::isdigit(static_cast<unsigned char>(text[0]))) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

std::string_view wanted(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "a tensor";
    case Kind::kTensorList:
      return "a list of tensors";
    case Kind::kInt:
      return "an int";
    case Kind::kIntList:
      return "a list of ints";
    case Kind::kFloat:
      return "a float";
    case Kind::kBool:
      return "a bool";
    case Kind::kScalar:
      return "a scalar";
    case Kind::kDType:
      return "a dtype";
    case Kind::kString:
      return "a str";
    default:
      return "nothing but null";
  }
}

bool fits(const SchemaArgument& arg, const Argument& given) {
  if (std::holds_alternative<std::monostate>(given)) return arg.optional;
  switch (arg.kind) {
    case Kind::kTensor:  // a number counts as a tensor, but nothing can be written into it
      return std::holds_alternative<Ref>(given) ||
             (std::holds_alternative<Scalar>(given) && arg.alias.empty());
    case Kind::kTensorList:
      return std::holds_alternative<std::vector<Ref>>(given);
    case Kind::kInt:
      return std::holds_alternative<Dim>(given);
    case Kind::kIntList:
      return std::holds_alternative<std::vector<Dim>>(given) || std::holds_alternative<Dim>(given);
    case Kind::kFloat:
      return std::holds_alternative<double>(given) || std::holds_alternative<Dim>(given);
    case Kind::kBool:
      return std::holds_alternative<bool>(given);
    case Kind::kScalar:
      return std::holds_alternative<Scalar>(given);
    case Kind::kDType:
      return std::holds_alternative<DType>(given);
    case Kind::kString:
      return std::holds_alternative<std::string>(given);
    default:
      return false;
  }
}

class Verifier {
 public:
  Verifier(const Program& program, const OpTable& table, const std::string& place)
      : program_(program), table_(table), place_(place) {}

  Types verify() {
    limit(program_.nodes.size(), kMaxNodes, "/nodes");
    limit(program_.inputs.size(), kMaxInputs, "/inputs");
    limit(program_.outputs.size(), kMaxOutputs, "/outputs");
    for (const auto& [symbol, value] : program_.symbols) check_symbol(symbol, value);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) check_input(i);
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) check_node(i);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      check_ref(program_.outputs[i], [&] { return "/outputs/" + std::to_string(i); });
    }
    if (writes_) check_writes(program_, table_, types_, place_);
    return std::move(types_);
  }

 private:
  [[noreturn]] void fail(const std::string& pointer, const std::string& message) const {
    throw Error(place_ + pointer, message);
  }

  void limit(std::size_t size, std::size_t most, const std::string& pointer) const {
    if (size > most) fail(pointer, "more than " + std::to_string(most) + " elements");
  }

  void check_symbol(const std::string& symbol, std::int64_t value) const {
    const std::string pointer = "/symbols/" + symbol;
    if (!is_identifier(symbol)) fail(pointer, "a symbol's name is an identifier");
    if (value < 0 || value > kMaxSymbol) fail(pointer, "a symbol's value is not in [0, 2^31]");
  }

  void define(const std::string& name, const std::string& of) {
    const auto pointer = [&] { return of + "/name"; };
    if (!is_identifier(name)) {
      fail(pointer(),
           "'" + name.substr(0, 80) + "' is not a name: letters, digits and _, up to 64");
    }
    for (const std::string_view reserved : kReserved) {
      if (reserved == name) fail(pointer(), "'" + name + "' means something in Python");
    }
    if (!names_.insert(name).second) fail(pointer(), "the name '" + name + "' is taken");
  }

  void check_input(std::size_t i) {
    const ProgramInput& input = program_.inputs[i];
    const std::string pointer = "/inputs/" + std::to_string(i);
    define(input.name, pointer);
    TensorType type{input.dtype, {}};
    for (std::size_t d = 0; d < input.shape.size(); ++d) {
      const auto at = [&] { return pointer + "/shape/" + std::to_string(d); };
      type.shape.push_back(value(input.shape[d], at));
    }
    check_type(type, pointer + "/shape");
    types_.set(input.name, {std::move(type)});
  }

  // Here and below `pointer` says where, and is called when something is wrong there.
  template <class Pointer>
  std::int64_t value(const Dim& dim, const Pointer& pointer) const {
    try {
      return dim.value(program_.symbols);
    } catch (const Error& error) {
      fail(pointer(), error.what());
    }
  }

  void check_type(const TensorType& type, const std::string& pointer) const {
    if (type.shape.size() > kMaxRank) {
      fail(pointer,
           "rank " + std::to_string(type.shape.size()) + " is above " + std::to_string(kMaxRank));
    }
    for (const std::int64_t size : type.shape) {
      if (size < 0) fail(pointer, to_string(type) + " has a negative size");
    }
    std::int64_t count = kMaxElements + 1;
    try {
      count = element_count(type.shape);
    } catch (const Error&) {  // beyond 64 bits
    }
    if (count > kMaxElements) fail(pointer, to_string(type) + " has more than 2^28 elements");
  }

  void check_node(std::size_t i) {
    const Node& node = program_.nodes[i];
    const std::string pointer = "/nodes/" + std::to_string(i);
    const Op* op = table_.find(node.op);
    if (op == nullptr) fail(pointer + "/op", "unknown operator '" + node.op.substr(0, 100) + "'");
    writes_ = writes_ || op->schema.mutates();
    check_arguments(node, *op, pointer);
    std::vector<TensorType> types;
    try {
      types = op->row->infer(Call(*op, node, program_.symbols, types_));
    } catch (const Error& error) {
      fail(pointer, error.what());
    }
    for (const TensorType& type : types) check_type(type, pointer);
    define(node.name, pointer);
    types_.set(node.name, std::move(types));
  }

  void check_arguments(const Node& node, const Op& op, const std::string& pointer) const {
    std::set<std::string_view> given;
    for (const NamedArgument& arg : node.args) {
      const auto at = [&] { return pointer + "/args/" + arg.name; };
      const SchemaArgument* declared = op.schema.find(arg.name);
      if (declared == nullptr) fail(at(), op.name() + " has no such argument");
      if (!given.insert(arg.name).second) fail(at(), "given twice");
      if (!fits(*declared, arg.value)) {
        fail(at(), op.name() + " wants " + std::string(wanted(declared->kind)) + " here");
      }
      check_argument(*declared, arg.value, at);
    }
    for (const SchemaArgument& arg : op.schema.args) {
      if (!arg.default_value && !given.contains(arg.name)) {
        fail(pointer + "/args", op.name() + " needs '" + arg.name + "'");
      }
    }
  }

  template <class Pointer>
  void check_argument(const SchemaArgument& arg, const Argument& given,
                      const Pointer& pointer) const {
    if (const auto* ref = std::get_if<Ref>(&given)) check_ref(*ref, pointer);
    if (const auto* dim = std::get_if<Dim>(&given)) value(*dim, pointer);
    if (const auto* dims = std::get_if<std::vector<Dim>>(&given)) {
      for (const Dim& dim : *dims) value(dim, pointer);
    }
    if (const auto* refs = std::get_if<std::vector<Ref>>(&given)) {
      for (const Ref& ref : *refs) {
        if (!ref.name.empty()) {
          check_ref(ref, pointer);
        } else if (!arg.optional_elements) {
          fail(pointer(), "null may not stand in this list");
        }
      }
    }
  }

  template <class Pointer>
  void check_ref(const Ref& ref, const Pointer& pointer) const {
    if (types_.has(ref)) return;
    if (types_.outputs(ref.name) > 0) {
      fail(pointer(), "'" + ref.name + "' has no output " + std::to_string(ref.output));
    }
    fail(pointer(), "'" + ref.name.substr(0, 80) + "' is not defined before this");
  }

  const Program& program_;
  const OpTable& table_;
  const std::string& place_;
  std::set<std::string> names_;
  Types types_;
  bool writes_ = false;  // some node does
};

}  // namespace

Types verify(const Program& program, const OpTable& table, const std::string& place) {
  return Verifier(program, table, place).verify();
}

}  // namespace ulpfuzz
