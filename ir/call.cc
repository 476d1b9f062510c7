#include "ir/call.h"

#include "ir/error.h"

namespace ulpfuzz {

const TensorType& Types::of(const Ref& ref) const {
  const auto found = types_.find(ref.name);
  if (found == types_.end()) throw Error("unknown value '" + ref.name + "'");
  if (ref.output < 0 || static_cast<std::size_t>(ref.output) >= found->second.size()) {
    throw Error("'" + ref.name + "' has no output " + std::to_string(ref.output));
  }
  return found->second[static_cast<std::size_t>(ref.output)];
}

bool Types::has(const Ref& ref) const { return ref.output >= 0 && ref.output < outputs(ref.name); }

void Types::set(const std::string& name, std::vector<TensorType> outputs) {
  types_[name] = std::move(outputs);
}

int Types::outputs(std::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? 0 : static_cast<int>(found->second.size());
}

const Argument& Call::argument(std::string_view arg) const {
  if (const Argument* given = node_.find(arg)) return *given;
  const SchemaArgument* declared = op_.schema.find(arg);
  if (declared == nullptr) fail("the operator has no argument '" + std::string(arg) + "'");
  if (!declared->default_value) fail("argument '" + std::string(arg) + "' is missing");
  return *declared->default_value;
}

bool Call::given(std::string_view arg) const {
  const Argument* value = node_.find(arg);
  return value != nullptr && !std::holds_alternative<std::monostate>(*value);
}

bool Call::is_tensor(std::string_view arg) const {
  const Argument* value = node_.find(arg);
  return value != nullptr && std::holds_alternative<Ref>(*value);
}

const Ref& Call::ref(std::string_view arg) const {
  if (const auto* value = std::get_if<Ref>(&argument(arg))) return *value;
  fail("argument '" + std::string(arg) + "' is not a tensor");
}

const std::vector<Ref>& Call::refs(std::string_view arg) const {
  static const std::vector<Ref> kNone;
  const Argument& value = argument(arg);
  if (const auto* list = std::get_if<std::vector<Ref>>(&value)) return *list;
  if (std::holds_alternative<std::monostate>(value)) return kNone;
  fail("argument '" + std::string(arg) + "' is not a list of tensors");
}

const TensorType& Call::tensor(std::string_view arg) const { return types_.of(ref(arg)); }

std::int64_t Call::integer(std::string_view arg) const {
  const Argument& value = argument(arg);
  if (const auto* dim = std::get_if<Dim>(&value)) return dim->value(symbols_);
  if (const auto* number = std::get_if<Scalar>(&value)) return number->as_integer();
  fail("argument '" + std::string(arg) + "' is not an integer");
}

std::vector<std::int64_t> Call::integers(std::string_view arg) const {
  const Argument& value = argument(arg);
  std::vector<std::int64_t> values;
  if (const auto* dims = std::get_if<std::vector<Dim>>(&value)) {
    for (const Dim& dim : *dims) values.push_back(dim.value(symbols_));
  } else if (const auto* dim = std::get_if<Dim>(&value)) {
    values.push_back(dim->value(symbols_));
  } else if (!std::holds_alternative<std::monostate>(value)) {
    fail("argument '" + std::string(arg) + "' is not a list of integers");
  }
  return values;
}

double Call::floating(std::string_view arg) const {
  const Argument& value = argument(arg);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* dim = std::get_if<Dim>(&value)) {
    return static_cast<double>(dim->value(symbols_));
  }
  if (const auto* number = std::get_if<Scalar>(&value)) return number->as_double();
  fail("argument '" + std::string(arg) + "' is not a number");
}

bool Call::boolean(std::string_view arg) const {
  if (const auto* value = std::get_if<bool>(&argument(arg))) return *value;
  fail("argument '" + std::string(arg) + "' is not True or False");
}

DType Call::dtype(std::string_view arg) const {
  if (const auto* value = std::get_if<DType>(&argument(arg))) return *value;
  fail("argument '" + std::string(arg) + "' is not a dtype");
}

const std::string& Call::string(std::string_view arg) const {
  if (const auto* value = std::get_if<std::string>(&argument(arg))) return *value;
  fail("argument '" + std::string(arg) + "' is not a string");
}

Scalar Call::scalar(std::string_view arg) const {
  const Argument& value = argument(arg);
  if (const auto* number = std::get_if<Scalar>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return Scalar{*number};
  if (const auto* number = std::get_if<bool>(&value)) return Scalar{*number};
  if (const auto* dim = std::get_if<Dim>(&value)) return Scalar{dim->value(symbols_)};
  fail("argument '" + std::string(arg) + "' is not a number");
}

void Call::fail(const std::string& message) const {
  throw Error(node_.name + " (" + op_.name() + ")", message);
}

}  // namespace ulpfuzz
