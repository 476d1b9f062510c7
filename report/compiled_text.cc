#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "report/repro_text.h"

// How a user writes each system.
namespace ulpfuzz {
namespace {

// The executor optimises a graph at its second run, and its gradient's one run later.
constexpr const char* kTraced =
    "def traced(program):\n"
    "    made = []\n"
    "    def f(*inputs):\n"
    "        if not made:\n"
    "            made.append(torch.jit.trace(program, inputs, check_trace=False))\n"
    "        return made[0](*inputs)\n"
    "    for _ in range(3):  # the graph is optimised while it runs\n"
    "        run(f)\n"
    "    return f\n\n";

// AOTInductor makes a file, which another process could load; {} are arguments.
constexpr const char* kPackaged =
    "class Program(torch.nn.Module):\n"
    "    def forward(self, *inputs):\n"
    "        return program(*inputs)\n\n\n"
    "def packaged():\n"
    "    made = []\n"
    "    def f(*inputs):\n"
    "        if not made:\n"
    "            exported = torch.export.export(Program(), inputs{})\n"
    "            path = torch._inductor.aoti_compile_and_package(exported{})\n"
    "            made.append(torch._inductor.aoti_load_package(path))\n"
    "        return made[0](*inputs)\n"
    "    return f\n\n";

constexpr const char* kDynamicShapes =
    ",\n                dynamic_shapes=(tuple({d: torch.export.Dim.AUTO for d in range(t.dim())}\n"
    "                                      for t in inputs),)";

// Leaves stay real, so that gradients are taken as of any function.
constexpr const char* kFaked =
    "def faked(program):\n"
    "    def f(*inputs):\n"
    "        with FakeTensorMode(allow_non_fake_inputs=True):\n"
    "            return program(*inputs)\n"
    "    return f\n\n";

// An option's text as the Python literal it most likely is.
std::string option_literal(const std::string& text) {
  if (text == "1" || text == "true" || text == "True") return "True";
  if (text == "0" || text == "false" || text == "False") return "False";
  const bool number = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  return number ? text : "'" + text + "'";
}

// "a+b" as "['a', 'b']".
std::string name_list(const std::string& text) {
  std::string list = "['";
  for (const char c : text) list += c == '+' ? "', '" : std::string(1, c);
  return list + "']";
}

// "'a': True, 'b': 2"
std::string option_items(const std::map<std::string, std::string>& options) {
  std::string items;
  for (const auto& [name, value] : options) {
    items += fmt::format("{}'{}': {}", items.empty() ? "" : ", ", name, option_literal(value));
  }
  return items;
}

// The options that are arguments of their own are taken out of `options`.
std::string torch_compile(std::map<std::string, std::string>& options, const std::string& backend,
                          bool dynamic) {
  std::string arguments = "program" + backend;
  if (dynamic) arguments += ", dynamic=True";
  for (const char* name : {"mode", "fullgraph"}) {
    const auto option = options.extract(name);
    if (option) arguments += fmt::format(", {}={}", name, option_literal(option.mapped()));
  }
  if (!options.empty()) arguments += ", options={" + option_items(options) + "}";
  return fmt::format("torch.compile({})", arguments);
}

CompiledText thunder(std::map<std::string, std::string> options, bool dynamic) {
  CompiledText text;
  text.imports = {"import thunder", "import thunder.dynamo"};
  text.needs = "torch and lightning-thunder";
  std::string executors;
  if (const auto option = options.extract("executors")) {
    executors = "executors=" + name_list(option.mapped());
  }
  const auto entry = options.extract("entry");
  if (entry && entry.mapped() == "jit") {
    text.expression = fmt::format("thunder.jit(program{}{}{})", executors.empty() ? "" : ", ",
                                  executors, dynamic ? ", cache='symbolic values'" : "");
  } else {
    text.expression = torch_compile(
        options, ", backend=thunder.dynamo.ThunderCompiler(" + executors + ")", dynamic);
  }
  return text;
}

}  // namespace

CompiledText compiled_text(const SystemSpec& system, const Environment& environment) {
  CompiledText text{"program", {}, "", "torch alone"};
  std::map<std::string, std::string> options = system.options;
  options.erase("fault");  // planted by tests: nothing that a script could show
  // No script of torch alone could show what a synthetic system draws.
  if (system.name.starts_with("eager") || system.name == "synthetic@py") return text;
  if (system.name == "fake@py") {
    text.expression = "faked(program)";
    text.imports = {"from torch._subclasses.fake_tensor import FakeTensorMode"};
    text.functions = kFaked;
    return text;
  }
  if (system.name == "thunder") return thunder(std::move(options), environment.dynamic);
  if (system.name == "torchscript") {
    text.expression = "traced(program)";
    text.functions = kTraced;
    return text;
  }
  if (system.name == "aoti") {
    text.imports = {"import torch._inductor"};
    text.expression = "packaged()";
    text.functions =
        fmt::format(kPackaged, environment.dynamic ? kDynamicShapes : "",
                    options.empty() ? "" : ", inductor_configs={" + option_items(options) + "}");
    return text;
  }
  std::string backend;
  if (system.name == "dynamo") {
    text.expression = torch_compile(options, ", backend='eager'", environment.dynamic);
    return text;
  }
  if (system.name == "aot_eager") {
    const auto option = options.extract("decompositions");
    const bool decomposes = option && option_literal(option.mapped()) == "True";
    backend = decomposes ? ", backend='aot_eager_decomp_partition'" : ", backend='aot_eager'";
  }
  text.expression = torch_compile(options, backend, environment.dynamic);
  return text;
}

}  // namespace ulpfuzz
