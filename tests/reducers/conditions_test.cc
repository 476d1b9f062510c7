// The conditions that are told of a finding, from a planted rule.
#include "reducers/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reducers/dimensions.h"
#include "tests/reducers/planted.h"

namespace ulpfuzz {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Rule = std::function<bool(const OriginFields&)>;

std::int64_t number(const OriginFields& values, const std::string& name) {
  return std::get<std::int64_t>(values.at(name));
}

// Probes every dimension alone, in rounds, as fuzz/explain.cc does; `legal` says which cases exist.
Conditions probed(const OriginFields& own, const Rule& fails, const Rule& legal = nullptr) {
  std::vector<Observation> seen{{own, true}};
  for (int round = 0; round < 12; ++round) {
    std::vector<Observation> more;
    for (const auto& [name, value] : own) {
      std::vector<ConfigValue> probes = next_probes(name, own, seen, ConfigValue{std::int64_t{1}});
      if (const bool* on = std::get_if<bool>(&value); on != nullptr && round == 0) {
        probes.emplace_back(!*on);
      }
      for (const ConfigValue& probe : probes) {
        OriginFields changed = own;
        changed[name] = probe;
        if (!legal || legal(changed)) more.push_back({changed, fails(changed)});
      }
    }
    if (more.empty()) break;
    seen.insert(seen.end(), more.begin(), more.end());
  }
  seen.erase(seen.begin());
  return fit_conditions(own, seen);
}

TEST(Conditions, HeadsAndAResidueOfTheLength) {
  const OriginFields own{{"heads", std::int64_t{8}},    {"kv_heads", std::int64_t{4}},
                         {"length", std::int64_t{192}}, {"seed", std::int64_t{3}},
                         {"vocab", std::int64_t{40}},   {"tied", false}};
  const Conditions found = probed(
      own,
      [](const OriginFields& v) {
        return number(v, "kv_heads") < number(v, "heads") && number(v, "length") % 128 == 64;
      },
      [](const OriginFields& v) { return number(v, "heads") % number(v, "kv_heads") == 0; });
  EXPECT_THAT(found.any, ElementsAre("seed", "tied", "vocab"));
  EXPECT_THAT(found.only_if,
              testing::UnorderedElementsAre("kv_heads < heads", "length % 128 == 64"));
  EXPECT_EQ(found.unexplained, 0);
  EXPECT_THAT(sentence(found), testing::StartsWith("fails for any seed, tied and vocab, only if "));
}

TEST(Conditions, AThresholdIsExactAfterBisection) {
  const OriginFields own{{"n", std::int64_t{640}}};
  const Conditions found = probed(own, [](const OriginFields& v) { return number(v, "n") >= 513; });
  EXPECT_THAT(found.only_if, ElementsAre("n >= 513"));
  ASSERT_EQ(found.neighbours.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(found.neighbours[0].passes), 512);
}

TEST(Conditions, ASwitchIsNamedWithTheValueThatFails) {
  const OriginFields own{{"rope", true}, {"n", std::int64_t{4}}};
  const Conditions found =
      probed(own, [](const OriginFields& v) { return std::get<bool>(v.at("rope")); });
  EXPECT_THAT(found.only_if, ElementsAre("rope is true"));
  EXPECT_THAT(found.any, ElementsAre("n"));
}

// No condition is claimed that a passing case meets without it being said.
TEST(Conditions, WhatTheSimpleConditionsDoNotSayIsCounted) {
  std::vector<Observation> seen;
  for (const std::int64_t v : {5, 6, 7, 8}) seen.push_back({{{"n", v}}, v != 7});
  const Conditions found = fit_conditions({{"n", std::int64_t{6}}}, seen);
  EXPECT_GT(found.unexplained + static_cast<int>(found.only_if.size()), 0);
  EXPECT_THAT(sentence(found), testing::HasSubstr("fails"));
}

TEST(Conditions, NothingTriedIsNothingSaid) {
  EXPECT_EQ(sentence(fit_conditions({{"n", std::int64_t{1}}}, {})), "");
}

TEST(Dimensions, OfAProgramAreItsSizesItsDtypeAndItsSeed) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4, 6}, Fill{});
  const Ref y = b.input("y", DType::kFloat32, {6, 3}, Fill{});
  b.output(b.call("product", "mm.default", {{"self", x}, {"mat2", y}}));
  const Case c = std::move(b).take();
  const OriginFields all = dimensions(c);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all.count("y.shape[0]"), 0u);  // it is x.shape[1]
  const auto wider = with_dimension(c, "x.shape[1]", std::int64_t{9}, op_table());
  ASSERT_TRUE(wider);
  EXPECT_EQ(wider->program.inputs[1].shape[0].constant, 9);
  const auto half = with_dimension(c, "dtype", std::string("bfloat16"), op_table());
  ASSERT_TRUE(half);
  EXPECT_EQ(half->program.inputs[0].dtype, DType::kBFloat16);
  EXPECT_FALSE(with_dimension(c, "x.shape[7]", std::int64_t{2}, op_table()));
}

}  // namespace
}  // namespace ulpfuzz
