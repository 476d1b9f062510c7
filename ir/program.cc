#include "ir/program.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace ulpfuzz {

double Scalar::as_double() const {
  return std::visit([](auto v) { return static_cast<double>(v); }, value);
}

std::int64_t Scalar::as_integer() const {
  if (const auto* number = std::get_if<double>(&value)) {
    if (!(std::abs(*number) < 0x1p63) || std::trunc(*number) != *number) {
      throw Error("a number that is not an integer stands where one is needed");
    }
    return static_cast<std::int64_t>(*number);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  return std::get<bool>(value) ? 1 : 0;
}

bool Scalar::operator==(const Scalar& other) const {
  const auto* a = std::get_if<double>(&value);
  const auto* b = std::get_if<double>(&other.value);
  return a != nullptr && b != nullptr ? same_bits(*a, *b) : value == other.value;
}

bool NamedArgument::operator==(const NamedArgument& other) const {
  const auto* a = std::get_if<double>(&value);
  const auto* b = std::get_if<double>(&other.value);
  return name == other.name &&
         (a != nullptr && b != nullptr ? same_bits(*a, *b) : value == other.value);
}

const Argument* Node::find(std::string_view arg) const {
  for (const NamedArgument& given : args) {
    if (given.name == arg) return &given.value;
  }
  return nullptr;
}

bool Node::operator==(const Node& other) const {
  if (name != other.name || op != other.op || args.size() != other.args.size()) return false;
  return std::all_of(args.begin(), args.end(), [&](const NamedArgument& arg) {
    const auto same = [&](const NamedArgument& their) { return their.name == arg.name; };
    const auto found = std::find_if(other.args.begin(), other.args.end(), same);
    return found != other.args.end() && *found == arg;
  });
}

const Node* Program::find_node(std::string_view name) const {
  for (const Node& node : nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

const ProgramInput* Program::find_input(std::string_view name) const {
  for (const ProgramInput& input : inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

std::vector<Ref> operands(const Node& node) {
  std::vector<Ref> found;
  for (const NamedArgument& arg : node.args) {
    if (const auto* ref = std::get_if<Ref>(&arg.value)) found.push_back(*ref);
    if (const auto* refs = std::get_if<std::vector<Ref>>(&arg.value)) {
      for (const Ref& ref : *refs) {
        if (!ref.name.empty()) found.push_back(ref);
      }
    }
  }
  return found;
}

Program bind_symbols(const Program& program) {
  Program bound = program;
  const auto bind = [&](Dim& dim) { dim = Dim(dim.value(program.symbols)); };
  for (ProgramInput& input : bound.inputs) {
    for (Dim& dim : input.shape) bind(dim);
  }
  for (Node& node : bound.nodes) {
    for (NamedArgument& arg : node.args) {
      if (auto* dim = std::get_if<Dim>(&arg.value)) bind(*dim);
      if (auto* dims = std::get_if<std::vector<Dim>>(&arg.value)) {
        for (Dim& dim : *dims) bind(dim);
      }
    }
  }
  bound.symbols.clear();
  return bound;
}

}  // namespace ulpfuzz
