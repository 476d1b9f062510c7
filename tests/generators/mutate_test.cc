// Neighbours of cases: always valid, always the same, and of every kind.
#include "generators/mutate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/verify.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

constexpr std::uint64_t kSeed = 11;

Profile profile() {
  Profile p;
  p.model_share = 0;
  p.max_nodes = 6;
  return p;
}

std::set<std::string> operators(const Case& c) {
  std::set<std::string> names;
  for (const Node& node : c.program.nodes) names.insert(node.op);
  return names;
}

TEST(MutateCase, WalksThroughValidCasesOfAllKinds) {
  int same = 0, longer = 0, shorter = 0, retyped = 0, with_gradients = 0, resized = 0;
  std::set<std::string> met;
  constexpr int kWalks = 40, kSteps = 25;
  for (int walk = 0; walk < kWalks; ++walk) {
    Case c = generate_case(kSeed, static_cast<std::uint64_t>(walk), op_table(), profile());
    for (int step = 0; step < kSteps; ++step) {
      const auto seed = static_cast<std::uint64_t>(1000 * walk + step);
      const Case next = mutate_case(c, seed, op_table(), profile());
      ASSERT_EQ(next, mutate_case(c, seed, op_table(), profile()));
      ASSERT_NO_THROW(verify(next, op_table())) << to_json(next);
      const std::string text = to_json(next);
      ASSERT_EQ(to_json(case_from_json(text, "mutated")), text);
      same += next == c ? 1 : 0;
      longer += next.program.nodes.size() > c.program.nodes.size() ? 1 : 0;
      shorter += next.program.nodes.size() < c.program.nodes.size() ? 1 : 0;
      resized += next.program.symbols != c.program.symbols ? 1 : 0;
      with_gradients += c.wrt.empty() && !next.wrt.empty() ? 1 : 0;
      retyped += next.program.nodes == c.program.nodes &&
                         !std::ranges::equal(next.program.inputs, c.program.inputs, {},
                                             &ProgramInput::dtype, &ProgramInput::dtype)
                     ? 1
                     : 0;
      met.merge(operators(next));
      c = next;
    }
  }
  EXPECT_LT(same, kWalks * kSteps / 50);
  for (const int count : {longer, shorter, retyped, with_gradients, resized}) EXPECT_GT(count, 10);
  EXPECT_GT(met.size(), 150u);
}

TEST(CrossCases, AreBothPrograms) {
  int joined = 0, fed = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    Profile small = profile();
    small.max_nodes = 3;
    const Case a = generate_case(kSeed, 2 * i, op_table(), small);
    const Case b = generate_case(kSeed, 2 * i + 1, op_table(), small);
    Profile wide = profile();
    wide.max_nodes = 20;
    const Case both = cross_cases(a, b, i, op_table(), wide);
    ASSERT_NO_THROW(verify(both, op_table())) << to_json(both);
    if (both == a) continue;
    ++joined;
    EXPECT_EQ(both.program.nodes.size(), a.program.nodes.size() + b.program.nodes.size());
    fed += both.program.inputs.size() < a.program.inputs.size() + b.program.inputs.size() ? 1 : 0;
  }
  EXPECT_GT(joined, 150);
  EXPECT_GT(fed, 5);
}

TEST(MutateCase, LeavesModelsAlone) {
  Profile models = profile();
  models.only = "qwen2";
  const Case c = generate_case(kSeed, 0, op_table(), models);
  EXPECT_EQ(mutate_case(c, 1, op_table(), profile()), c);
}

}  // namespace
}  // namespace ulpfuzz
