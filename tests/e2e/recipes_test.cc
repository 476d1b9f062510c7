#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "generators/family.h"
#include "ir/json.h"
#include "ir/python_source.h"
#include "ir/rewrite.h"
#include "ops/table.h"
#include "tests/e2e/binary.h"

// A family's recipe is the library's model: the same bits in eager mode, outputs and gradients, on
// random configurations. ULPFUZZ_RECIPE_CASES: how many (default 20).
namespace ulpfuzz {
namespace {

Json line_of(const Case& c) {
  Json config = Json::object();
  for (const auto& [name, value] : c.model->fields) {
    std::visit([&, &field = name](const auto& v) { config[field] = v; }, value);
  }
  Json inputs = Json::array();
  const Case bound = bind_symbols(c);
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const ProgramInput& input = bound.program.inputs[i];
    Shape shape;
    for (const Dim& dim : input.shape) shape.push_back(dim.constant);
    inputs.push_back({{"name", input.name},
                      {"dtype", name(input.dtype)},
                      {"shape", shape},
                      {"fill", json_of(bound.inputs[i].fill)}});
  }
  return {{"config", config},
          {"source", python_function(bound.program, op_table())},
          {"inputs", inputs},
          {"wrt", bound.wrt}};
}

// Random configurations, each as a line for recipes.py; `change` may alter what the module is built
// from.
std::string lines_of(int wanted, void (*change)(Json& config)) {
  std::string lines;
  int count = 0;
  for (std::uint64_t seed = 0; count < wanted; ++seed) {
    Random random(seed);
    Case c;
    c.model = family("qwen2").draw(random);
    if (!std::get<bool>(c.model->fields.at("rope"))) continue;  // no model of the library's
    Json line = line_of(lower(c));
    change(line["config"]);
    lines += line.dump() + "\n";
    ++count;
  }
  return lines;
}

Output held_against_transformers(const std::string& lines) {
  const Folder folder;
  write_text(folder / "cases.jsonl", lines);
  const std::string library = (build_folder() / "libulpfuzz-fills.so").string();
  return run_program({"/usr/bin/env", "ULPFUZZ_FILLS=" + library, python(), "tests/e2e/recipes.py",
                      "systems/python", (folder / "cases.jsonl").string()});
}

TEST(Recipes, Qwen2IsTransformersToTheBit) {
  const char* asked = std::getenv("ULPFUZZ_RECIPE_CASES");
  const int wanted = asked != nullptr ? std::atoi(asked) : 20;
  const Output output = held_against_transformers(lines_of(wanted, [](Json&) {}));
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out, std::to_string(wanted) + "\n");
}

TEST(Recipes, AnotherModelIsSeen) {
  const Output output =
      held_against_transformers(lines_of(1, [](Json& config) { config["rms_norm_eps"] = 1e-2; }));
  EXPECT_NE(output.status, 0);
  EXPECT_NE(output.err.find("AssertionError: output 0"), std::string::npos) << output.err;
}

}  // namespace
}  // namespace ulpfuzz
