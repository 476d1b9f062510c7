#include "ir/python_source.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Kind = SchemaArgument::Kind;

std::string float_literal(double value) {
  if (std::isnan(value)) return "float('nan')";
  if (std::isinf(value)) return value > 0 ? "float('inf')" : "float('-inf')";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string string_literal(const std::string& value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string scalar_literal(const Scalar& scalar) {
  if (const auto* number = std::get_if<double>(&scalar.value)) return float_literal(*number);
  if (const auto* number = std::get_if<std::int64_t>(&scalar.value)) {
    return std::to_string(*number);
  }
  return std::get<bool>(scalar.value) ? "True" : "False";
}

// Prints one program.
class PythonPrinter {
 public:
  PythonPrinter(const Program& program, const OpTable& table) : program_(program), table_(table) {
    for (const ProgramInput& input : program.inputs) taken_.insert(input.name);
    for (const Node& node : program.nodes) {
      taken_.insert(node.name);
      for (const Ref& ref : operands(node)) used_.insert(ref);
      const std::vector<SchemaArgument>& returns = table.at(node.op).schema.returns;
      if (returns.size() == 1 && returns[0].kind == Kind::kTensorList) lists_.insert(node.name);
    }
    used_.insert(program.outputs.begin(), program.outputs.end());
  }

  std::string print(const std::string& function_name) {
    std::string parameters;
    for (const ProgramInput& input : program_.inputs) {
      parameters += (parameters.empty() ? "" : ", ") + input.name;
    }
    std::string text = "def " + function_name + "(" + parameters + "):\n";
    for (const Node& node : program_.nodes) text += "    " + statement(node) + "\n";
    std::string results;
    for (const Ref& ref : program_.outputs) {
      results += (results.empty() ? "" : ", ") + value(ref);
    }
    if (program_.outputs.empty()) return text + "    return ()\n";
    if (program_.outputs.size() == 1) return text + "    return (" + results + ",)\n";
    return text + "    return " + results + "\n";
  }

 private:
  std::string statement(const Node& node) {
    const Op& op = table_.at(node.op);
    std::string text = call(op, node);
    if (op.schema.returns.size() < 2) return node.name + " = " + text;
    // Outputs get names of their own; those that nothing uses are dropped.
    std::string names;
    bool any_used = false;
    for (std::size_t i = 0; i < op.schema.returns.size(); ++i) {
      const Ref ref{node.name, static_cast<int>(i)};
      const bool is_used = used_.count(ref) > 0;
      if (is_used) outputs_[ref] = output_name(node.name, op.schema.returns[i], i);
      names += (i > 0 ? ", " : "") + (is_used ? outputs_[ref] : "_");
      any_used = any_used || is_used;
    }
    return (any_used ? names : node.name) + " = " + text;
  }

  std::string output_name(const std::string& node, const SchemaArgument& result, std::size_t i) {
    std::string name = node + "_" + (result.name.empty() ? std::to_string(i) : result.name);
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  std::string value(const Ref& ref) const {
    const auto named = outputs_.find(ref);
    if (named != outputs_.end()) return named->second;
    const bool is_list = lists_.count(ref.name) > 0;
    return is_list ? ref.name + "[" + std::to_string(ref.output) + "]" : ref.name;
  }

  std::string call(const Op& op, const Node& node) const {
    const std::string_view python = op.row->python;
    if (python.empty()) throw Error(node.name, op.name() + " cannot be printed as Python");
    if (python.find('{') != python.npos) return filled(op, node);
    const bool is_method = python[0] == '.';
    std::string arguments;
    bool by_keyword = false;
    for (std::size_t i = is_method ? 1 : 0; i < op.schema.args.size(); ++i) {
      const SchemaArgument& arg = op.schema.args[i];
      const Argument* given = node.find(arg.name);
      if (given == nullptr || is_default_none(arg, *given)) {
        by_keyword = true;
        continue;
      }
      if (!arguments.empty()) arguments += ", ";
      if (by_keyword || arg.keyword_only) arguments += arg.name + "=";
      arguments += literal(*given);
    }
    std::string callee(python);
    if (is_method) callee = receiver(op, node) + callee;
    return callee + "(" + arguments + ")";
  }

  static bool is_default_none(const SchemaArgument& arg, const Argument& given) {
    return std::holds_alternative<std::monostate>(given) && arg.default_value &&
           std::holds_alternative<std::monostate>(*arg.default_value);
  }

  std::string receiver(const Op& op, const Node& node) const {
    const std::string text = argument(op, node, op.schema.args.at(0).name);
    const auto* ref = std::get_if<Ref>(node.find(op.schema.args[0].name));
    return ref != nullptr ? text : "(" + text + ")";
  }

  // "{self} + {other}" with the arguments put in.
  std::string filled(const Op& op, const Node& node) const {
    const std::string_view python = op.row->python;
    std::string text;
    std::size_t at = 0;
    while (at < python.size()) {
      const std::size_t open = python.find('{', at);
      if (open == python.npos) break;
      const std::size_t close = python.find('}', open);
      if (close == python.npos) throw Error(op.name(), "the row's Python template has no '}'");
      text += python.substr(at, open - at);
      const std::string arg(python.substr(open + 1, close - open - 1));
      const bool subscript = !text.empty() && text.back() == '[';
      if (!drop_keyword(node, arg, text)) {
        text += subscript ? subscripts(op, node, arg) : bracketed(argument(op, node, arg), text);
      }
      at = close + 1;
    }
    text += python.substr(std::min(at, python.size()));
    return text;
  }

  // ", value={value}" is left out when the node leaves the argument out.
  static bool drop_keyword(const Node& node, const std::string& arg, std::string& text) {
    const std::string keyword = ", " + arg + "=";
    if (node.find(arg) != nullptr || !text.ends_with(keyword)) return false;
    text.resize(text.size() - keyword.size());
    return true;
  }

  // A negative number as an operand of an operator stands in parentheses.
  static std::string bracketed(std::string literal, const std::string& before) {
    const std::size_t last = before.find_last_not_of(' ');
    const bool delimited = last == before.npos ||
                           std::string_view("([,=").find(before[last]) != std::string_view::npos;
    return literal[0] == '-' && !delimited ? "(" + literal + ")" : literal;
  }

  // The call's dim, start, end and step as Python writes them: ":, 1:4", or "..., ::2, :".
  std::string slice(const Op& op, const Node& node) const {
    const auto number = [&](const std::string& arg) {
      const std::string text = argument(op, node, arg);
      return text == "None" ? "" : text;
    };
    std::string text = number("start") + ":" + number("end");
    if (number("step") != "1") text += ":" + number("step");
    const int dim = std::stoi(number("dim"));
    for (int i = 0; i < dim; ++i) text = ":, " + text;
    if (dim < 0) text = "..., " + text;
    for (int i = -1; i > dim; --i) text += ", :";
    return text;
  }

  // Inside x[...]: a list of tensors without brackets, None as ":"; "slice" stands for the range
  // that a slice operator takes.
  std::string subscripts(const Op& op, const Node& node, const std::string& arg) const {
    if (arg == "slice" && op.schema.find(arg) == nullptr) return slice(op, node);
    const Argument* given = node.find(arg);
    const auto* refs = given == nullptr ? nullptr : std::get_if<std::vector<Ref>>(given);
    if (refs == nullptr) return argument(op, node, arg);
    std::string text;
    for (const Ref& ref : *refs) {
      text += (text.empty() ? "" : ", ") + (ref.name.empty() ? ":" : value(ref));
    }
    return text;
  }

  std::string argument(const Op& op, const Node& node, const std::string& arg) const {
    const SchemaArgument* declared = op.schema.find(arg);
    const Argument* value = node.find(arg);
    if (value == nullptr && declared != nullptr && declared->default_value) {
      value = &*declared->default_value;
    }
    if (value == nullptr) throw Error(node.name, op.name() + " has no value for '" + arg + "'");
    const auto* number = std::get_if<Dim>(value);
    return arg == "reduction" && number != nullptr ? reduction(*number) : literal(*value);
  }

  // at::Reduction as torch.nn.functional names it.
  static std::string reduction(const Dim& number) {
    if (number == Dim(0)) return "'none'";
    return number == Dim(1) ? "'mean'" : "'sum'";
  }

  template <class Items, class Print>
  static std::string list(const Items& items, const Print& print) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + print(item);
    return "[" + text + "]";
  }

  std::string literal(const Argument& argument) const {
    struct Literal {
      const PythonPrinter& printer;
      std::string operator()(std::monostate) const { return "None"; }
      std::string operator()(const Ref& ref) const { return printer.value(ref); }
      std::string operator()(const std::vector<Ref>& refs) const {
        return list(refs,
                    [&](const Ref& ref) { return ref.name.empty() ? "None" : printer.value(ref); });
      }
      std::string operator()(const Dim& dim) const { return to_string(dim); }
      std::string operator()(const std::vector<Dim>& dims) const {
        return list(dims, [](const Dim& dim) { return to_string(dim); });
      }
      std::string operator()(double number) const { return float_literal(number); }
      std::string operator()(bool flag) const { return flag ? "True" : "False"; }
      std::string operator()(DType dtype) const { return "torch." + std::string(name(dtype)); }
      std::string operator()(const std::string& text) const { return string_literal(text); }
      std::string operator()(const Scalar& scalar) const { return scalar_literal(scalar); }
    };
    return std::visit(Literal{*this}, argument);
  }

  const Program& program_;
  const OpTable& table_;
  std::set<std::string> taken_;               // names
  std::set<std::string, std::less<>> lists_;  // nodes that give a list
  std::set<Ref> used_;                        // values that something reads
  std::map<Ref, std::string> outputs_;        // names of outputs that were unpacked
};

}  // namespace

std::string python_function(const Program& program, const OpTable& table,
                            const std::string& function_name) {
  return PythonPrinter(program, table).print(function_name);
}

}  // namespace ulpfuzz
