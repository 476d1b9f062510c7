#include "generators/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "generators/circumstances.h"
#include "generators/family.h"
#include "generators/layout.h"
#include "ir/error.h"
#include "ir/modules.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

constexpr std::uint64_t kSeed = 20260101;

// The cases that most tests look at, generated once.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    for (std::uint64_t i = 0; i < 3000; ++i) list.push_back(generate_case(kSeed, i, op_table()));
    return list;
  }();
  return all;
}

std::string in_short(const Case& c) {
  return c.model ? c.model->family : c.program.nodes.front().op;
}

TEST(Generate, EveryCaseVerifies) {
  for (const Case& c : cases()) {
    EXPECT_NO_THROW(verify(c, op_table())) << to_json(c);
  }
}

TEST(Generate, TheSameSeedAndIndexGiveTheSameCaseInAnyOrder) {
  for (std::uint64_t i = 40; i-- > 0;) {
    EXPECT_EQ(hashes(generate_case(kSeed, i, op_table())).whole, hashes(cases()[i]).whole);
  }
}

TEST(Generate, IndicesAndSeedsDiffer) {
  std::set<std::string> seen;
  for (const Case& c : cases()) seen.insert(hashes(c).whole);
  for (std::uint64_t i = 0; i < 100; ++i) {
    seen.insert(hashes(generate_case(kSeed + 1, i, op_table())).whole);
  }
  EXPECT_EQ(seen.size(), cases().size() + 100);
}

TEST(Generate, NothingIsDead) {
  for (const Case& c : cases()) {
    if (c.model) continue;
    const Program live = without_dead_code(c.program, op_table());
    EXPECT_EQ(live.nodes.size(), c.program.nodes.size()) << in_short(c);
    std::vector<std::size_t> kept;
    without_unused_inputs(live, kept);
    EXPECT_EQ(kept.size(), c.program.inputs.size()) << in_short(c);
  }
}

// The bar is 0.2 % of the cases for every operator that can be drawn.
TEST(Generate, EveryOperatorHasItsShare) {
  std::map<std::string, int> seen;
  for (const Case& c : cases()) {
    std::set<std::string> ops;
    for (const Node& node : c.program.nodes) ops.insert(node.op);
    for (const std::string& op : ops) ++seen[op];
  }
  for (const Op& op : op_table().ops()) {
    if (op.row->draw == nullptr || op.row->weight <= 0) continue;
    EXPECT_GE(seen[op.name()], static_cast<int>(cases().size() / 500)) << op.name();
  }
}

TEST(Generate, CasesVaryInEachRespect) {
  int backward = 0, models = 0, strided = 0, inputs = 0, half = 0, written = 0, dynamic = 0;
  for (const Case& c : cases()) {
    backward += !c.wrt.empty();
    models += c.model.has_value();
    dynamic += c.environment.dynamic;
    if (!c.model) {  // parameters of models are contiguous
      inputs += static_cast<int>(c.inputs.size());
      for (const InputData& data : c.inputs) strided += !data.strides.empty() || data.offset != 0;
    }
    half += std::any_of(c.program.inputs.begin(), c.program.inputs.end(), [](const auto& input) {
      return input.dtype == DType::kBFloat16 || input.dtype == DType::kFloat16;
    });
    written += std::any_of(c.program.nodes.begin(), c.program.nodes.end(), [](const Node& node) {
      return op_table().at(node.op).schema.mutates();
    });
  }
  const auto total = static_cast<double>(cases().size());
  EXPECT_GT(backward, 0.25 * total);
  EXPECT_NEAR(models, Profile{}.model_share * total, 0.02 * total);
  EXPECT_GT(strided, 0.2 * inputs);
  EXPECT_GT(half, 0.15 * total);
  EXPECT_GT(dynamic, 0.02 * total);
  EXPECT_GT(written, 0.02 * total);
}

TEST(Generate, EveryFamilyHasItsShare) {
  std::map<std::string, std::size_t> seen;
  std::size_t models = 0;
  for (const Case& c : cases()) {
    if (!c.model) continue;
    ++seen[c.model->family];
    ++models;
  }
  for (const Family& family : families()) {
    EXPECT_GT(2 * families().size() * seen[std::string(family.name)], models) << family.name;
  }
}

TEST(Generate, ABackwardPassHasSomewhereToStart) {
  for (const Case& c : cases()) {
    EXPECT_EQ(c.environment.grad, !c.wrt.empty());
    const auto given = std::count_if(c.cotangents.begin(), c.cotangents.end(),
                                     [](const auto& cotangent) { return cotangent.has_value(); });
    EXPECT_EQ(given > 0, !c.wrt.empty());
  }
}

TEST(Generate, OnlyWhatIsNamedIsGenerated) {
  Profile profile;
  for (const Family& family : families()) {
    profile.only = family.name;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Case c = generate_case(kSeed, i, op_table(), profile);
      ASSERT_TRUE(c.model);
      EXPECT_EQ(c.model->family, family.name);
    }
  }
  for (const std::string only : {"litgpt.GPT", "transformers"}) {
    profile.only = only;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Case c = generate_case(kSeed, i, op_table(), profile);
      ASSERT_TRUE(c.module);
      EXPECT_TRUE(c.module->module.starts_with(only)) << c.module->module;
      check_module(*c.module, "");
      EXPECT_EQ(c.environment.grad, c.module->gradients);
    }
  }
  profile.only = "layer_norm";
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Case c = generate_case(kSeed, i, op_table(), profile);
    EXPECT_TRUE(std::ranges::any_of(c.program.nodes, [](const Node& node) {
      return node.op.find("layer_norm") != std::string::npos;
    }));
  }
  profile.only = "no_such_thing";
  EXPECT_THROW(generate_case(kSeed, 0, op_table(), profile), Error);
}

TEST(Generate, AProfileIsObeyed) {
  Profile profile;
  profile.model_share = 0;
  profile.max_nodes = 2;
  profile.max_elements = 64;
  profile.large_share = 0;
  profile.backward_share = 0;
  profile.layout_share = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Case c = generate_case(kSeed, i, op_table(), profile);
    EXPECT_FALSE(c.model);
    EXPECT_TRUE(c.wrt.empty());
    const Types types = verify(c, op_table());
    for (std::size_t k = 0; k < c.inputs.size(); ++k) {
      EXPECT_TRUE(c.inputs[k].strides.empty());
      EXPECT_LE(element_count(types.of({c.program.inputs[k].name, 0}).shape), 64);
    }
  }
}

std::uint64_t factorial(std::uint64_t n) { return n < 2 ? 1 : n * factorial(n - 1); }

// Every order of every choice of the four kernels: 4!/(4 - n)! lists of length n. A CPU runs two of
// the four: lists of the other two alone ask it nothing.
TEST(Circumstances, AttentionListsAreAllOrderedSubListsThatTheDeviceCanRun) {
  std::map<std::size_t, std::uint64_t> cpu, cuda;
  const auto count = [](const std::string& device, auto& lengths) {
    std::set<std::vector<SdpaKernel>> different;
    for (const std::vector<SdpaKernel>& list : sdpa_lists(device)) {
      ++lengths[list.size()];
      different.insert(list);
      EXPECT_EQ(std::set(list.begin(), list.end()).size(), list.size());
    }
    EXPECT_EQ(different.size(), sdpa_lists(device).size());
  };
  count("cuda", cuda);
  count("cpu", cpu);
  for (std::uint64_t n = 1; n <= 4; ++n) {
    const std::uint64_t without = n <= 2 ? factorial(2) / factorial(2 - n) : 0;
    EXPECT_EQ(cuda[n], factorial(4) / factorial(4 - n));
    EXPECT_EQ(cpu[n], cuda[n] - without);
  }
}

TEST(Circumstances, EveryAttentionListIsDrawnWithAndWithoutPriority) {
  for (const std::string device : {"cpu", "cuda"}) {
    Random random(5);
    std::set<std::pair<std::vector<SdpaKernel>, bool>> seen;
    for (int i = 0; i < 4000; ++i) {
      const SdpaChoice choice = draw_sdpa_choice(random, device);
      seen.emplace(choice.kernels, choice.set_priority);
    }
    std::set<std::pair<std::vector<SdpaKernel>, bool>> all;
    for (const std::vector<SdpaKernel>& list : sdpa_lists(device)) {
      all.emplace(list, false);
      all.emplace(list, true);
    }
    EXPECT_EQ(seen, all);
  }
}

TEST(Circumstances, APrimedCacheWasPrimedWithAnotherChoice) {
  int primed = 0;
  Random random(6);
  for (int i = 0; i < 1000; ++i) {
    const Environment environment = draw_environment(random, {}, {}, true, true);
    if (!environment.primed_by) continue;
    ++primed;
    EXPECT_TRUE(environment.sdpa);
    EXPECT_NE(environment.primed_by, environment.sdpa);
  }
  EXPECT_GT(primed, 20);
  EXPECT_LT(primed, 150);
  EXPECT_FALSE(draw_environment(random, {}, {}, true, false).sdpa);
}

TEST(Family, LoweringKeepsTheEnvironmentAndLeavesProgramsAlone) {
  Random random(7);
  Case c;
  c.model = family("qwen2").draw(random);
  c.environment.threads = 2;
  const Case lowered = lower(c);
  EXPECT_EQ(lowered.environment.threads, 2);
  EXPECT_EQ(lowered.model, c.model);
  EXPECT_FALSE(lowered.program.nodes.empty());
  EXPECT_EQ(to_json(lower(lowered)), to_json(lowered));
  EXPECT_THROW(family("qwen3"), Error);
}

}  // namespace
}  // namespace ulpfuzz
