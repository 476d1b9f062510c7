#include <gtest/gtest.h>

#include "generators/build.h"
#include "tests/reducers/planted.h"

// Modules are reduced as fields, each candidate captured; then as the captured program alone.
namespace ulpfuzz {
namespace {

// What stands for a library here: a relu a layer, of n_embd elements, which it wants even.
std::optional<Case> captured(const Case& c) {
  const auto& config = c.module->config;
  const auto width = config.find("n_embd");
  const auto layers = config.find("n_layer");
  if (width == config.end() || layers == config.end()) return std::nullopt;
  const std::int64_t size = std::get<std::int64_t>(width->second);
  if (size % 2 != 0) return std::nullopt;
  ProgramBuilder b;
  Ref x = b.input("x", DType::kFloat32, {size}, {});
  for (std::int64_t i = 0; i < std::get<std::int64_t>(layers->second); ++i) {
    x = b.call("relu_" + std::to_string(i), "relu.default", {{"self", x}});
  }
  b.output(x);
  Case result = std::move(b).take();
  result.module = c.module;
  result.environment = c.environment;
  return result;
}

Case module_case() {
  Case c;
  c.module = ModuleConfig{};
  c.module->module = "litgpt.GPT";
  c.module->config = {{"n_embd", std::int64_t{24}}, {"n_layer", std::int64_t{3}}};
  c.module->batch = 4;
  c.module->gradients = true;
  return *captured(c);
}

ReducedCase reduced(Fails fails) {
  ReductionOptions options;
  options.capture = captured;
  return reduce(module_case(), op_table(), each(std::move(fails)), options);
}

bool has_relu(const Case& c) { return contains(c, "aten.relu.default"); }

TEST(ReduceModules, AFindingOfTheProgramEndsWithoutTheModule) {
  const ReducedCase result = reduced(has_relu);
  EXPECT_TRUE(result.complete);
  EXPECT_FALSE(result.smallest.module);
  EXPECT_EQ(result.smallest.program.nodes.size(), 1u);
  EXPECT_EQ(elements_of(result.smallest, 0), 1);
}

TEST(ReduceModules, AFindingOfTheModuleAloneKeepsItAtItsSmallest) {
  const ReducedCase result =
      reduced([](const Case& c) { return c.module && has_relu(c) && c.module->batch >= 2; });
  EXPECT_TRUE(result.complete);
  ASSERT_TRUE(result.smallest.module);
  const ModuleConfig& module = *result.smallest.module;
  EXPECT_EQ(std::get<std::int64_t>(module.config.at("n_embd")), 2);
  EXPECT_EQ(std::get<std::int64_t>(module.config.at("n_layer")), 1);
  EXPECT_EQ(module.batch, 2);
  EXPECT_FALSE(module.gradients);
  EXPECT_EQ(result.smallest.program.nodes.size(), 1u);
}

// Each field is one that the library's default would have, until a smaller value is given.
TEST(ReduceModules, FieldsAtALibrarysDefaultAreMadeSmallToo) {
  const ReducedCase result = reduced([](const Case& c) { return c.module && has_relu(c); });
  EXPECT_EQ(result.smallest.module->config.count("vocab_size"), 1u);
}

}  // namespace
}  // namespace ulpfuzz
