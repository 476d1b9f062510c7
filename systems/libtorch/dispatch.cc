#include "systems/libtorch/dispatch.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "ir/error.h"
#include "systems/libtorch/tensors.h"

namespace ulpfuzz::libtorch {
namespace {

// "aten.add.Tensor" -> {"aten::add", "Tensor"}; the overload "default" is ATen's "".
c10::OperatorName operator_name(const std::string& op) {
  const std::size_t first = op.find('.');
  const std::size_t last = op.rfind('.');
  if (first == std::string::npos || first == last) {
    throw Error(op, "not an operator's full name, as in aten.add.Tensor");
  }
  const std::string overload = op.substr(last + 1);
  return {op.substr(0, first) + "::" + op.substr(first + 1, last - first - 1),
          overload == "default" ? "" : overload};
}

// What a schema's argument takes.
struct Slot {
  explicit Slot(const c10::Argument& argument) : length(argument.N()) {
    c10::TypePtr type = argument.type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    if (const auto items = type->cast<c10::ListType>()) {
      list = true;
      type = items->getElementType();
      if (const auto optional = type->cast<c10::OptionalType>()) {
        optional_items = true;
        type = optional->getElementType();
      }
    }
    kind = type->kind();
  }
  bool is(c10::TypeKind k, bool as_list = false) const { return kind == k && list == as_list; }

  c10::TypeKind kind{};
  bool list = false;
  bool optional_items = false;
  std::optional<std::int32_t> length;  // of int[2]
};

std::int64_t number(const Dim& dim) { return dim.value({}); }

// One number of Python, for a slot of Scalar, int, float or bool.
std::optional<c10::Scalar> as_number(const Argument& argument) {
  if (const auto* dim = std::get_if<Dim>(&argument)) return c10::Scalar(number(*dim));
  if (const auto* real = std::get_if<double>(&argument)) return c10::Scalar(*real);
  if (const auto* truth = std::get_if<bool>(&argument)) return c10::Scalar(*truth);
  if (const auto* scalar = std::get_if<Scalar>(&argument)) {
    return std::visit([](auto v) { return c10::Scalar(v); }, scalar->value);
  }
  return std::nullopt;
}

at::Tensor wrapped_number(const c10::Scalar& value) {
  at::Tensor tensor = c10::scalar_to_tensor(value);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

class Converter {
 public:
  Converter(const c10::Argument& formal, const Lookup& lookup)
      : formal_(formal), slot_(formal), lookup_(lookup) {}

  c10::IValue convert(const Argument& argument) const {
    if (std::holds_alternative<std::monostate>(argument)) return {};
    if (const auto* ref = std::get_if<Ref>(&argument)) {
      if (slot_.is(c10::TypeKind::TensorType)) return lookup_(*ref);
    } else if (const auto* refs = std::get_if<std::vector<Ref>>(&argument)) {
      if (slot_.is(c10::TypeKind::TensorType, true)) return tensors(*refs);
    } else if (const auto* dims = std::get_if<std::vector<Dim>>(&argument)) {
      if (slot_.is(c10::TypeKind::IntType, true)) return integers(*dims);
      if (slot_.is(c10::TypeKind::FloatType, true)) return reals(*dims);
    } else if (const auto* dtype = std::get_if<DType>(&argument)) {
      if (slot_.is(c10::TypeKind::IntType)) return static_cast<std::int64_t>(scalar_type(*dtype));
    } else if (const auto* text = std::get_if<std::string>(&argument)) {
      if (slot_.is(c10::TypeKind::StringType)) return *text;
    } else if (const auto value = as_number(argument)) {
      return from_number(*value);
    }
    return wrong_kind();
  }

 private:
  c10::IValue from_number(const c10::Scalar& value) const {
    if (slot_.is(c10::TypeKind::TensorType)) return wrapped_number(value);
    if (slot_.is(c10::TypeKind::NumberType)) return value;
    if (slot_.is(c10::TypeKind::FloatType)) return value.toDouble();
    if (slot_.is(c10::TypeKind::BoolType) && value.isBoolean()) return value.toBool();
    if (value.isIntegral(false)) {
      if (slot_.is(c10::TypeKind::IntType)) return value.toLong();
      // Python takes one number for all of int[2], and for the one of int[1].
      if (slot_.is(c10::TypeKind::IntType, true)) {
        return std::vector<std::int64_t>(static_cast<std::size_t>(slot_.length.value_or(1)),
                                         value.toLong());
      }
    }
    return wrong_kind();
  }

  c10::IValue tensors(const std::vector<Ref>& refs) const {
    if (!slot_.optional_items) {
      c10::List<at::Tensor> list;
      for (const Ref& ref : refs) list.push_back(lookup_(ref));
      return list;
    }
    c10::List<std::optional<at::Tensor>> list;
    for (const Ref& ref : refs) {
      list.push_back(ref.name.empty() ? std::nullopt : std::optional<at::Tensor>(lookup_(ref)));
    }
    return list;
  }

  static c10::IValue integers(const std::vector<Dim>& dims) {
    c10::List<std::int64_t> list;
    for (const Dim& dim : dims) list.push_back(number(dim));
    return list;
  }

  static c10::IValue reals(const std::vector<Dim>& dims) {
    c10::List<double> list;
    for (const Dim& dim : dims) list.push_back(static_cast<double>(number(dim)));
    return list;
  }

  [[noreturn]] c10::IValue wrong_kind() const {
    throw Error("argument '" + formal_.name() + "' does not take what it is given; it is " +
                formal_.type()->str());
  }

  const c10::Argument& formal_;
  const Slot slot_;
  const Lookup& lookup_;
};

void flatten(const c10::IValue& value, std::vector<at::Tensor>& results) {
  if (value.isTensor()) {
    results.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) results.push_back(tensor);
  } else {
    throw Error("an operator returned a " + value.tagKind() + ", not a tensor");
  }
}

}  // namespace

std::vector<at::Tensor> call_boxed(const Node& node, const Lookup& lookup) {
  const auto found = c10::Dispatcher::singleton().findSchema(operator_name(node.op));
  if (!found) throw Error(node.name, "this torch has no operator " + node.op);
  torch::jit::Stack stack;
  std::size_t used = 0;
  for (const c10::Argument& formal : found->schema().arguments()) {
    if (const Argument* argument = node.find(formal.name())) {
      stack.push_back(Converter(formal, lookup).convert(*argument));
      ++used;
    } else if (formal.default_value()) {
      stack.push_back(*formal.default_value());
    } else {
      throw Error(node.name, "argument '" + formal.name() + "' of " + node.op + " is missing");
    }
  }
  if (used != node.args.size()) throw Error(node.name, "an argument that " + node.op + " has not");
  found->callBoxed(&stack);
  std::vector<at::Tensor> results;
  for (const c10::IValue& value : stack) flatten(value, results);
  return results;
}

}  // namespace ulpfuzz::libtorch
