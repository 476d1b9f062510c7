// Programs as JSON.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "ir/json.h"
#include "ir/json_reader.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kMaxValues = 4096;  // inputs, outputs, elements of a list
constexpr std::int64_t kExactInteger = std::int64_t{1} << 53;

// A size as people write it: a number where it is one.
Json size_json(const Dim& dim) {
  const bool exact = -kExactInteger <= dim.constant && dim.constant <= kExactInteger;
  if (dim.is_constant() && exact) return dim.constant;
  return to_string(dim);
}

Json scalar_json(const Scalar& scalar) {
  if (const auto* number = std::get_if<double>(&scalar.value)) {
    return {{"float", float_bits(*number)}};
  }
  if (const auto* number = std::get_if<std::int64_t>(&scalar.value)) {
    return {{"int", std::to_string(*number)}};
  }
  return {{"bool", std::get<bool>(scalar.value)}};
}

// One member an argument kind.
struct ArgumentWriter {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const Ref& ref) const { return {{"ref", to_string(ref)}}; }
  Json operator()(const std::vector<Ref>& refs) const {
    Json list = Json::array();
    for (const Ref& ref : refs) list.push_back(ref.name.empty() ? Json() : Json(to_string(ref)));
    return {{"refs", list}};
  }
  Json operator()(const Dim& dim) const { return {{"int", to_string(dim)}}; }
  Json operator()(const std::vector<Dim>& dims) const {
    Json list = Json::array();
    for (const Dim& dim : dims) list.push_back(to_string(dim));
    return {{"ints", list}};
  }
  Json operator()(double value) const { return {{"float", float_bits(value)}}; }
  Json operator()(bool value) const { return {{"bool", value}}; }
  Json operator()(DType dtype) const { return {{"dtype", std::string(name(dtype))}}; }
  Json operator()(const std::string& text) const { return {{"str", text}}; }
  Json operator()(const Scalar& scalar) const { return {{"scalar", scalar_json(scalar)}}; }
};

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

Json json_of(const Program& program) {
  Json inputs = Json::array();
  for (const ProgramInput& input : program.inputs) {
    Json shape = Json::array();
    for (const Dim& dim : input.shape) shape.push_back(size_json(dim));
    inputs.push_back(
        {{"name", input.name}, {"dtype", std::string(name(input.dtype))}, {"shape", shape}});
  }
  Json nodes = Json::array();
  for (const Node& node : program.nodes) {
    Json args = Json::object();
    for (const NamedArgument& arg : node.args) {
      args[arg.name] = std::visit(ArgumentWriter(), arg.value);
    }
    nodes.push_back({{"name", node.name}, {"op", node.op}, {"args", args}});
  }
  Json outputs = Json::array();
  for (const Ref& ref : program.outputs) outputs.push_back(to_string(ref));
  Json symbols = Json::object();
  for (const auto& [symbol, value] : program.symbols) symbols[symbol] = size_json(value);
  return {{"level", program.level == Level::kJoint ? "joint" : "pre_dispatch"},
          {"symbols", symbols},
          {"inputs", inputs},
          {"nodes", nodes},
          {"outputs", outputs}};
}

Program program_from(const Json& json, const std::string& place) {
  const JsonReader reader(json, place);
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
