// Programs as JSON.
#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kMaxValues = 4096;  // inputs, outputs, elements of a list
constexpr std::int64_t kExactInteger = std::int64_t{1} << 53;

// A size as people write it: a number where it is one.
void write_size(JsonWriter& out, const Dim& dim) {
  const bool exact = -kExactInteger <= dim.constant && dim.constant <= kExactInteger;
  if (dim.is_constant() && exact) return out.integer(dim.constant);
  out.string(to_string(dim));
}

// One member an argument kind.
class ArgumentWriter {
 public:
  explicit ArgumentWriter(JsonWriter& out) : out_(out) {}

  void operator()(std::monostate) const { out_.null(); }
  void operator()(const Ref& ref) const {
    member("ref", [&] { out_.string(to_string(ref)); });
  }
  void operator()(const std::vector<Ref>& refs) const {
    member("refs", [&] { out_.list(refs, [&](const Ref& ref) { ref_or_none(ref); }); });
  }
  void operator()(const Dim& dim) const {
    member("int", [&] { out_.string(to_string(dim)); });
  }
  void operator()(const std::vector<Dim>& dims) const {
    member("ints", [&] { out_.list(dims, [&](const Dim& dim) { out_.string(to_string(dim)); }); });
  }
  void operator()(double value) const {
    member("float", [&] { out_.bits(value); });
  }
  void operator()(bool value) const {
    member("bool", [&] { out_.boolean(value); });
  }
  void operator()(std::int64_t value) const {
    member("int", [&] { out_.digits(value); });
  }
  void operator()(DType dtype) const {
    member("dtype", [&] { out_.string(name(dtype)); });
  }
  void operator()(const std::string& text) const {
    member("str", [&] { out_.string(text); });
  }
  void operator()(const Scalar& scalar) const {
    member("scalar", [&] { std::visit(*this, scalar.value); });
  }

 private:
  template <class Write>
  void member(std::string_view kind, const Write& write_value) const {
    out_.begin_object();
    out_.key(kind);
    write_value();
    out_.end_object();
  }

  void ref_or_none(const Ref& ref) const {
    if (ref.name.empty()) return out_.null();
    out_.string(to_string(ref));
  }

  JsonWriter& out_;
};

void write(JsonWriter& out, const ProgramInput& input) {
  out.begin_object();
  out.key("dtype").string(name(input.dtype));
  out.key("name").string(input.name);
  out.key("shape").list(input.shape, [&](const Dim& dim) { write_size(out, dim); });
  out.end_object();
}

void write(JsonWriter& out, const Node& node) {
  std::map<std::string_view, const Argument*> args;
  for (const NamedArgument& arg : node.args) args[arg.name] = &arg.value;
  out.begin_object();
  out.key("args");
  out.begin_object();
  for (const auto& [name, value] : args) {
    out.key(name);
    std::visit(ArgumentWriter(out), *value);
  }
  out.end_object();
  out.key("name").string(node.name);
  out.key("op").string(node.op);
  out.end_object();
}

Ref read_ref(const JsonReader& reader) {
  const std::string text = reader.string(256);
  Ref ref{text, 0};
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, ref.output);
    if (error != std::errc() || stop != end || ref.output < 0) {
      reader.fail("a reference is a name, or a name and an output such as x:1");
    }
    ref.name.resize(colon);
  }
  if (ref.name.empty()) reader.fail("a reference without a name");
  return ref;
}

std::vector<Ref> read_refs(const JsonReader& reader, bool or_none) {
  std::vector<Ref> refs;
  for (const JsonReader& element : reader.elements(kMaxValues)) {
    refs.push_back(or_none && element.is_null() ? Ref() : read_ref(element));
  }
  return refs;
}

Scalar read_scalar(const JsonReader& reader) {
  const Json& json = reader.json();
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_number_integer()) return {reader.integer()};
  if (json.is_number()) return {json.get<double>()};
  const auto [kind, value] = reader.single();
  if (kind == "float") return {value.floating()};
  if (kind == "int") return {value.integer()};
  if (kind == "bool") return {value.boolean()};
  reader.fail("a scalar is float, int or bool");
}

Argument read_argument(const JsonReader& reader) {
  if (reader.is_null()) return std::monostate();
  const auto [kind, value] = reader.single();
  if (kind == "ref") return read_ref(value);
  if (kind == "refs") return read_refs(value, true);
  if (kind == "int") return value.dim();
  if (kind == "ints") return value.dims();
  if (kind == "float") return value.floating();
  if (kind == "bool") return value.boolean();
  if (kind == "dtype") return value.dtype();
  if (kind == "str") return value.string();
  if (kind == "scalar") return read_scalar(value);
  value.fail("unknown kind; known are ref, refs, int, ints, float, bool, dtype, str, scalar");
}

Node read_node(const JsonReader& reader) {
  reader.only({"name", "op", "args"});
  Node node{reader.at("name").string(256), reader.at("op").string(256), {}};
  const JsonReader args = reader.at("args");
  for (const std::string& name : args.keys()) {
    node.args.push_back({name, read_argument(args.at(name))});
  }
  return node;
}

Level read_level(const JsonReader& reader) {
  const std::string level = reader.string();
  if (level == "pre_dispatch") return Level::kPreDispatch;
  if (level == "joint") return Level::kJoint;
  reader.fail("a level is pre_dispatch or joint");
}

}  // namespace

void write(JsonWriter& out, const Program& program) {
  out.begin_object();
  out.key("inputs").list(program.inputs, [&](const ProgramInput& i) { write(out, i); });
  out.key("level").string(program.level == Level::kJoint ? "joint" : "pre_dispatch");
  out.key("nodes").list(program.nodes, [&](const Node& node) { write(out, node); });
  out.key("outputs").list(program.outputs, [&](const Ref& ref) { out.string(to_string(ref)); });
  out.key("symbols");
  out.begin_object();
  for (const auto& [symbol, value] : program.symbols) write_size(out.key(symbol), value);
  out.end_object();
  out.end_object();
}

Json json_of(const Program& program) { return Json::parse(canonical_text(program)); }

Program program_from(const JsonReader& reader) {
  reader.only({"level", "symbols", "inputs", "nodes", "outputs"});
  Program program;
  if (const auto level = reader.find("level")) program.level = read_level(*level);
  if (const auto symbols = reader.find("symbols")) {
    for (const std::string& symbol : symbols->keys()) {
      program.symbols[symbol] = symbols->at(symbol).integer();
    }
  }
  for (const JsonReader& input : reader.at("inputs").elements(kMaxValues)) {
    input.only({"name", "dtype", "shape"});
    program.inputs.push_back(
        {input.at("name").string(256), input.at("dtype").dtype(), input.at("shape").dims()});
  }
  for (const JsonReader& node : reader.at("nodes").elements(kMaxNodes)) {
    program.nodes.push_back(read_node(node));
  }
  program.outputs = read_refs(reader.at("outputs"), false);
  return program;
}

}  // namespace ulpfuzz
