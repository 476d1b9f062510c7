// A case as a C++ program on LibTorch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/verify.h"
#include "report/report.h"
#include "report/witness.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kMostElements = 1
                                       << 14;  // of an input's storage; more is no program to read

constexpr const char* kHead = R"(//
//   T=$(python -c 'import os, torch; print(os.path.dirname(torch.__file__))')
//   g++ -std=c++17 repro.cc -o repro -I$T/include -I$T/include/torch/csrc/api/include -L$T/lib
//     -Wl,-rpath,$T/lib -Wl,--no-as-needed -ltorch -ltorch_cpu -lc10 && ./repro
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using Tensors = std::vector<at::Tensor>;

// An operator by the name of its schema; arguments that are not given have the schema's defaults.
Tensors call(const char* name, const char* overload, std::map<std::string, c10::IValue> given) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  std::vector<c10::IValue> stack;
  for (const c10::Argument& argument : op.schema().arguments()) {
    const auto found = given.find(argument.name());
    stack.push_back(found != given.end() ? found->second : *argument.default_value());
  }
  op.callBoxed(&stack);
  Tensors results;
  for (const c10::IValue& value : stack) {
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) results.push_back(tensor);
    } else {
      results.push_back(value.toTensor());
    }
  }
  return results;
}
)";

constexpr const char* kNumber = R"(
// A Python number where a tensor belongs: it takes part in promotion by its category only.
at::Tensor number(const at::Scalar& value) {
  at::Tensor tensor = c10::scalar_to_tensor(value);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}
)";

constexpr const char* kShow = R"(
void show(const std::string& name, const at::Tensor& tensor) {
  std::cout << name << ": ";
  if (!tensor.defined()) {
    std::cout << "none\n";
    return;
  }
  std::cout << tensor.dtype() << ' ' << tensor.sizes() << " strides " << tensor.strides() << '\n';
  const at::Tensor flat = tensor.detach().reshape({-1}).to(
      tensor.is_floating_point() ? at::kDouble : at::kLong);
  for (int64_t i = 0; i < std::min<int64_t>(flat.numel(), 16); ++i) {
    if (tensor.is_floating_point()) {
      std::cout << "  " << flat[i].item<double>();
    } else {
      std::cout << "  " << flat[i].item<int64_t>();
    }
  }
  std::cout << (flat.numel() > 16 ? "  ...\n" : "\n");
}
)";

std::string literal(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

// A name of the program that C++ takes: keywords, and what the text uses itself, get a '_'.
std::string identifier(const std::string& name) {
  static constexpr std::string_view kTaken[] = {
      "and",   "auto",   "bool",    "break",    "call",   "case",   "char",   "class",  "const",
      "do",    "double", "else",    "enum",     "export", "float",  "for",    "given",  "if",
      "int",   "long",   "main",    "new",      "not",    "number", "op",     "or",     "outputs",
      "short", "show",   "signed",  "std",      "struct", "switch", "this",   "torch",  "true",
      "false", "union",  "program", "unsigned", "using",  "void",   "while",  "xor",    "at",
      "c10",   "inputs", "return",  "static",   "result", "x_",     "delete", "default"};
  return std::ranges::find(kTaken, name) != std::end(kTaken) ? name + "_" : name;
}

std::string real(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// at::kFloat and so on: every dtype has this spelling.
std::string scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "at::kFloat";
    case DType::kFloat64:
      return "at::kDouble";
    case DType::kFloat16:
      return "at::kHalf";
    case DType::kBFloat16:
      return "at::kBFloat16";
    case DType::kInt64:
      return "at::kLong";
    case DType::kInt32:
      return "at::kInt";
    case DType::kInt16:
      return "at::kShort";
    case DType::kInt8:
      return "at::kChar";
    case DType::kUInt8:
      return "at::kByte";
    case DType::kBool:
      return "at::kBool";
    default:
      throw Error("repro.cc", fmt::format("{} is not written as C++", name(dtype)));
  }
}

// A tensor of these numbers in this layout, as an expression.
std::string tensor(const Fill& fill, DType dtype, const Shape& shape, Shape strides,
                   std::int64_t offset) {
  if (strides.empty()) strides = contiguous_strides(shape);
  const Elements elements = generate(fill, dtype, shape);
  std::int64_t extent = offset + 1;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    extent += std::max<std::int64_t>(shape[d] - 1, 0) * strides[d];
    count *= shape[d];
  }
  if (extent > kMostElements || count > kMostElements) {
    throw Error("repro.cc", "its inputs are too large to write out; minimize it first");
  }
  const bool integral = elements.reals.empty();
  std::vector<std::string> storage(static_cast<std::size_t>(extent), integral ? "0" : "0.0");
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = offset;
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      at += rest % shape[d] * strides[d];
    }
    const auto from = static_cast<std::size_t>(i);
    storage[static_cast<std::size_t>(at)] =
        integral ? fmt::format("{}", elements.integers[from]) : real(elements.reals[from]);
  }
  std::string text = fmt::format("at::tensor(std::vector<{}>{{{}}}, {}).to({})",
                                 integral ? "int64_t" : "double", fmt::join(storage, ", "),
                                 integral ? "at::kLong" : "at::kDouble", scalar_type(dtype));
  return fmt::format("{}.as_strided({{{}}}, {{{}}}, {})", text, fmt::join(shape, ", "),
                     fmt::join(strides, ", "), offset);
}

class CppText {
 public:
  CppText(const Case& bound, const OpTable& table) : c_(bound), table_(table) {}

  // `Tensors program(...)`, and what it needs in front of it.
  std::string program() {
    std::string lines;
    for (std::size_t i = 0; i < c_.program.inputs.size(); ++i) {
      lines += fmt::format("  const at::Tensor {} = inputs[{}];\n",
                           identifier(c_.program.inputs[i].name), i);
    }
    for (const Node& node : c_.program.nodes) lines += line(node);
    std::vector<std::string> outputs;
    for (const Ref& output : c_.program.outputs) outputs.push_back(value(output));
    return (numbers_ ? kNumber : "") +
           fmt::format("\nTensors program(const Tensors& inputs) {{\n{}  return {{{}}};\n}}\n",
                       lines, fmt::join(outputs, ", "));
  }

 private:
  std::string value(const Ref& ref) const {
    const bool input = c_.program.find_input(ref.name) != nullptr;
    return input ? identifier(ref.name) : fmt::format("{}[{}]", identifier(ref.name), ref.output);
  }

  std::string line(const Node& node) {
    const Op& op = table_.at(node.op);
    // "aten.add.Tensor"; "default" is the overload without a name.
    const std::size_t dot = node.op.rfind('.');
    std::string base = node.op.substr(0, dot);
    base.replace(base.find('.'), 1, "::");
    std::string overload = node.op.substr(dot + 1);
    if (overload == "default") overload.clear();
    std::vector<std::string> given;
    for (const NamedArgument& argument : node.args) {
      given.push_back(fmt::format("{{{}, {}}}", literal(argument.name),
                                  expression(*op.schema.find(argument.name), argument.value)));
    }
    return fmt::format("  const Tensors {} = call({}, {}, {{{}}});\n", identifier(node.name),
                       literal(base), literal(overload), fmt::join(given, ", "));
  }

  std::string scalar(const Scalar& s) const {
    if (const auto* b = std::get_if<bool>(&s.value)) return *b ? "true" : "false";
    if (const auto* i = std::get_if<std::int64_t>(&s.value)) return fmt::format("int64_t({})", *i);
    return real(std::get<double>(s.value));
  }

  // A number where the schema has `kind`.
  std::string number(SchemaArgument::Kind kind, const Scalar& s) {
    using Kind = SchemaArgument::Kind;
    switch (kind) {
      case Kind::kTensor:
        numbers_ = true;
        return fmt::format("number({})", scalar(s));
      case Kind::kScalar:
        return fmt::format("at::Scalar({})", scalar(s));
      case Kind::kFloat:
        return real(s.as_double());
      case Kind::kIntList:
        return fmt::format("std::vector<int64_t>{{{}}}", s.as_integer());
      case Kind::kBool:
        return s.as_integer() != 0 ? "true" : "false";
      default:
        return fmt::format("int64_t({})", s.as_integer());
    }
  }

  std::string expression(const SchemaArgument& formal, const Argument& argument) {
    if (std::holds_alternative<std::monostate>(argument)) return "c10::IValue()";
    if (const auto* ref = std::get_if<Ref>(&argument)) return value(*ref);
    if (const auto* dtype = std::get_if<DType>(&argument)) {
      return fmt::format("int64_t({})", scalar_type(*dtype));
    }
    if (const auto* text = std::get_if<std::string>(&argument)) {
      return fmt::format("std::string({})", literal(*text));
    }
    if (const auto* refs = std::get_if<std::vector<Ref>>(&argument)) {
      std::vector<std::string> items;
      for (const Ref& ref : *refs) {
        items.push_back(ref.name.empty() ? "std::nullopt" : value(ref));
      }
      const bool optional = formal.optional_elements;
      return fmt::format("c10::List<{}>({{{}}})",
                         optional ? "std::optional<at::Tensor>" : "at::Tensor",
                         fmt::join(items, ", "));
    }
    if (const auto* dims = std::get_if<std::vector<Dim>>(&argument)) {
      std::vector<std::int64_t> sizes;
      for (const Dim& dim : *dims) sizes.push_back(dim.value(c_.program.symbols));
      const bool floats = formal.kind == SchemaArgument::Kind::kFloatList;
      return fmt::format("std::vector<{}>{{{}}}", floats ? "double" : "int64_t",
                         fmt::join(sizes, ", "));
    }
    if (const auto* dim = std::get_if<Dim>(&argument)) {
      return number(formal.kind, Scalar{dim->value(c_.program.symbols)});
    }
    if (const auto* flag = std::get_if<bool>(&argument)) {
      return formal.kind == SchemaArgument::Kind::kBool ? (*flag ? "true" : "false")
                                                        : number(formal.kind, Scalar{*flag});
    }
    if (const auto* number_ = std::get_if<double>(&argument)) {
      return number(formal.kind, Scalar{*number_});
    }
    return number(formal.kind, std::get<Scalar>(argument));
  }

  const Case& c_;
  const OpTable& table_;
  bool numbers_ = false;
};

// Statements of main that leave `inputs`, `outputs`, `gradients`.
std::string run_text(const Case& c, const OpTable& table) {
  std::string text;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.program.inputs.size(); ++i) {
    const ProgramInput& input = c.program.inputs[i];
    const InputData& data = c.inputs[i];
    if (data.alias >= 0)
      throw Error("repro.cc", "inputs that share storage are not written as C++");
    Shape shape;
    for (const Dim& dim : input.shape) shape.push_back(dim.value(c.program.symbols));
    const std::string name = identifier(input.name);
    text += fmt::format("  at::Tensor {} = {};\n", name,
                        tensor(data.fill, input.dtype, shape, data.strides, data.offset));
    if (std::ranges::find(c.wrt, input.name) != c.wrt.end()) {
      text += fmt::format("  {}.requires_grad_();\n", name);
    }
    names.push_back(name);
  }
  text += fmt::format("  const Tensors inputs{{{}}};\n  const Tensors outputs = program(inputs);\n",
                      fmt::join(names, ", "));
  text += "  Tensors gradients;\n";
  const Types types = verify(c.program, table);
  std::vector<std::string> outputs, cotangents, by;
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    if (!c.cotangents[i]) continue;
    const TensorType& type = types.of(c.program.outputs[i]);
    outputs.push_back(fmt::format("outputs[{}]", i));
    cotangents.push_back(
        tensor(c.cotangents[i]->fill, type.dtype, type.shape, c.cotangents[i]->strides, 0));
  }
  for (const std::string& name : c.wrt) by.push_back(identifier(name));
  if (c.environment.grad && !by.empty() && !outputs.empty()) {
    text += fmt::format(
        "  gradients = torch::autograd::grad({{{}}}, {{{}}}, {{{}}}, /*retain_graph=*/false,\n"
        "                                    /*create_graph=*/false, /*allow_unused=*/true);\n",
        fmt::join(outputs, ", "), fmt::join(by, ", "), fmt::join(cotangents, ",\n    "));
  }
  return text;
}

// The result of this name as an expression.
std::string result_of(const Case& c, const std::string& name) {
  constexpr std::string_view kGradient = "gradient of ", kOutput = "output ", kAfter = " after";
  if (name.starts_with(kOutput)) return "outputs[" + name.substr(kOutput.size()) + "]";
  if (name.ends_with(kAfter)) return identifier(name.substr(0, name.size() - kAfter.size()));
  const auto it = std::ranges::find(c.wrt, name.substr(kGradient.size()));
  return fmt::format("gradients[{}]", it - c.wrt.begin());
}

std::string circumstances(const Environment& e) {
  std::string left_out;
  const auto leave = [&](bool there, const char* what) {
    if (there) left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", what);
  };
  leave(e.device != "cpu", "the device");
  leave(e.sdpa.has_value() || e.primed_by.has_value(), "the choice of attention kernels");
  leave(!e.autocast.empty(), "autocast");
  leave(e.isa != "native", "the instruction set (ATEN_CPU_CAPABILITY)");
  leave(e.dynamic, "dynamic shapes");
  return left_out;
}

std::string compare(const Witness& w) {
  const std::string exact =
      w.integral() ? fmt::format("{}", w.exact.integers[w.index]) : real(w.exact_value());
  const bool finite = std::isfinite(w.integral() ? 0 : w.exact_value());
  std::string good;
  if (w.integral()) {
    std::vector<std::string> equal{"value == exact"};
    if (w.index < w.exact.acceptable.size()) {
      for (const std::int64_t as_good : w.exact.acceptable[w.index]) {
        equal.push_back(fmt::format("value == {}", as_good));
      }
    }
    good = fmt::format("{}", fmt::join(equal, " || "));
  } else if (std::isnan(w.exact_value())) {
    good = "std::isnan(value)";
  } else {
    good =
        finite ? fmt::format("std::abs(value - exact) <= {}", real(w.allowed)) : "value == exact";
  }
  const std::string type = w.integral() ? "int64_t" : "double";
  return fmt::format(
      "  const {0} value = {1}.detach().reshape({{-1}})[{2}].to({3}).item<{0}>();\n"
      "  const {0} exact = {4};\n"
      "  std::cout << \"element [{5}] of {6}: \" << value << \", exact \" << exact << '\\n';\n"
      "  return {7} ? 0 : 1;\n",
      type, result_of(w.shown, w.tensor), w.index, w.integral() ? "at::kLong" : "at::kDouble",
      exact, fmt::join(w.subscripts(), ", "), w.tensor, good);
}

std::string program_text(const std::string& headline, const Case& shown, const OpTable& table,
                         const std::string& end) {
  if (shown.module) throw Error("repro.cc", "a module is not written as C++");
  const Case c = bind_symbols(shown);
  CppText text(c, table);
  const std::string left_out = circumstances(c.environment);
  std::string main = "\nint main() {\n  std::cout.precision(17);\n";
  main += fmt::format("  at::set_num_threads({});\n", c.environment.threads);
  if (c.environment.rng_seed != 0) {
    main += fmt::format("  torch::manual_seed({});\n", c.environment.rng_seed);
  }
  if (!c.environment.grad) main += "  const torch::NoGradGuard no_grad;\n";
  main += run_text(c, table);
  main +=
      "  for (size_t i = 0; i < outputs.size(); ++i) show(\"output \" + std::to_string(i), "
      "outputs[i]);\n";
  for (std::size_t i = 0; i < c.wrt.size(); ++i) {
    main += fmt::format("  if (!gradients.empty()) show({}, gradients[{}]);\n",
                        literal("gradient of " + c.wrt[i]), i);
  }
  return fmt::format("// {}\n{}{}{}{}{}{}}}\n", headline,
                     left_out.empty() ? "" : "// Not set here: " + left_out + ".\n", kHead,
                     text.program(), kShow, main, end);
}

}  // namespace

std::string repro_cc(const Case& c, const OpTable& table) {
  return program_text("A program of ATen operators in eager mode: prints its results.", c, table,
                      "  return 0;\n");
}

std::string repro_cc(const Finding& finding, const OpTable& table) {
  const std::string& system = finding.signature.system;
  const std::string what = fmt::format("{}: {}.", system, name(finding.signature.kind));
  const bool eager = system.starts_with("eager@");
  const auto w = witness(finding, table);
  if (!w || is_complex(w->exact.type.dtype)) {
    return program_text(what + " Eager mode in C++: prints what a compiler is held against.",
                        finding.minimal, table, "  return 0;\n");
  }
  return program_text(
      what + (eager ? " Exits 1 while this fails, 0 when it is fixed."
                    : " Eager mode in C++, which the compiler is held against: exits 0 while that "
                      "is right."),
      w->shown, table, compare(*w));
}

}  // namespace ulpfuzz
