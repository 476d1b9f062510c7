#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "generators/family.h"
#include "ir/json.h"
#include "ir/python_source.h"
#include "ir/rewrite.h"
#include "ops/table.h"
#include "tests/e2e/binary.h"

// A family's recipe is the library's model: the same bits in eager mode, outputs and gradients, on
// random configurations. ULPFUZZ_RECIPE_CASES: how many of each family (default 8).
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
  return {{"family", c.model->family},
          {"config", config},
          {"source", python_function(bound.program, op_table())},
          {"inputs", inputs},
          {"wrt", bound.wrt}};
}

// The field `rope` leaves rotary embedding out, which no model of transformers does.
bool is_of_the_library(const ModelConfig& config) {
  const auto rope = config.fields.find("rope");
  return rope == config.fields.end() || std::get<bool>(rope->second);
}

// Random configurations, each as a line for recipes.py; `change` may alter what the module is built
// from.
std::string lines_of(const Family& family, int wanted, const std::function<void(Json&)>& change) {
  std::string lines;
  int count = 0;
  for (std::uint64_t seed = 0; count < wanted; ++seed) {
    Random random(seed);
    Case c;
    c.model = family.draw(random);
    if (!is_of_the_library(*c.model)) continue;
    Json line = line_of(lower(c));
    change(line["config"]);
    lines += line.dump() + "\n";
    ++count;
  }
  return lines;
}

Output held_against_libraries(const std::string& lines) {
  const Folder folder;
  write_text(folder / "cases.jsonl", lines);
  const std::string library = (build_folder() / "libulpfuzz-fills.so").string();
  return run_program({"/usr/bin/env", "ULPFUZZ_FILLS=" + library, python(), "tests/e2e/recipes.py",
                      "systems/python", (folder / "cases.jsonl").string()});
}

std::string times(int count, const std::string& line) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += line;
  return lines;
}

TEST(Recipes, AreTheirLibrariesToTheBit) {
  const char* asked = std::getenv("ULPFUZZ_RECIPE_CASES");
  const int wanted = asked != nullptr ? std::atoi(asked) : 8;
  std::string lines;
  for (const Family& family : families()) lines += lines_of(family, wanted, [](Json&) {});
  const Output output = held_against_libraries(lines);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out, times(wanted * static_cast<int>(families().size()), "same\n"))
      << output.err;
}

// A module of another epsilon than the recipe's, for each family.
TEST(Recipes, AnotherModelIsSeen) {
  std::string lines;
  for (const Family& family : families()) {
    lines += lines_of(family, 1, [](Json& config) {
      for (const char* name : {"rms_norm_eps", "norm_eps"}) {
        if (config.contains(name)) config[name] = 1e-2;
      }
    });
  }
  const Output output = held_against_libraries(lines);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out, times(static_cast<int>(families().size()), "output 0\n")) << output.err;
}

}  // namespace
}  // namespace ulpfuzz
