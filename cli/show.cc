#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "ir/json.h"
#include "ir/python_source.h"
#include "ops/table.h"
#include "report/report.h"

namespace ulpfuzz {
namespace {

// "x: float32[4, 7], strides (1, 4)" — what a reader needs to see of an input.
std::string describe(const ProgramInput& input, const InputData& data, const Symbols& symbols) {
  Shape shape;
  for (const Dim& dim : input.shape) shape.push_back(dim.value(symbols));
  std::string text = fmt::format("{}: {}", input.name, to_string(TensorType{input.dtype, shape}));
  if (!data.strides.empty()) {
    std::string strides;
    for (const std::int64_t s : data.strides)
      strides += (strides.empty() ? "" : ", ") + std::to_string(s);
    text += ", strides (" + strides + ")";
  }
  if (data.offset != 0) text += ", offset " + std::to_string(data.offset);
  return text;
}

ExitStatus run(const std::string& named, const std::string& store, bool cpp, bool json) {
  Scheduler scheduler(op_table(), {});
  const Case c = find_case(named, store, scheduler);
  if (cpp) {
    fmt::print("{}", repro_cc(c, op_table()));
    return kNothingFound;
  }
  const Case bound = bind_symbols(c);
  const std::string source = python_function(bound.program, op_table());
  if (json) {
    const nlohmann::json object{
        {"case", nlohmann::json::parse(to_json(c))}, {"source", source}, {"hash", hashes(c).whole}};
    fmt::print("{}\n", object.dump());
    return kNothingFound;
  }
  if (c.model) {
    fmt::print("# {}", c.model->family);
    for (const auto& [field, value] : c.model->fields) {
      std::visit([&](const auto& v) { fmt::print(" {}={}", field, v); }, value);
    }
    fmt::print("\n");
  }
  if (c.module) fmt::print("# {}\n", json_of(*c.module).dump());
  for (std::size_t i = 0; i < bound.program.inputs.size(); ++i) {
    fmt::print("# {}\n", describe(bound.program.inputs[i], bound.inputs[i], bound.program.symbols));
  }
  for (const std::string& name : bound.wrt) fmt::print("# gradient by {}\n", name);
  fmt::print("import torch\n\n{}", source);
  return kNothingFound;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  struct Options {
    std::string named;
    std::string store = "ulpfuzz-store";
    bool cpp = false;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("show", "Print a case as the Python a person would write");
  command->add_option("CASE", o->named, "Case file, finding folder, or finding id")->required();
  command->add_option("--store", o->store, "Folder of the store")->capture_default_str();
  CLI::Option* cpp = command->add_flag("--cpp", o->cpp, "As a C++ program on LibTorch");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)")->excludes(cpp);
  command->callback(
      [o, &action] { action = [o] { return run(o->named, o->store, o->cpp, o->json); }; });
}

}  // namespace ulpfuzz
