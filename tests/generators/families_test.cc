#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"

// What every family of models promises.
namespace ulpfuzz {
namespace {

using testing::HasSubstr;

class Families : public testing::TestWithParam<Family> {
 protected:
  const Family& family() const { return GetParam(); }

  ModelConfig smallest() const {
    ModelConfig config{std::string(family().name), {}};
    for (const ConfigField& field : family().fields) {
      config.fields[std::string(field.name)] = field.smallest;
    }
    return config;
  }

  std::string refusal(const ModelConfig& config) const {
    try {
      family().build(config);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  // Some families call them n_layer, n_head and so on.
  std::string field_with(const std::string& meaning) const {
    for (const ConfigField& field : family().fields) {
      if (field.meaning.find(meaning) != std::string_view::npos) return std::string(field.name);
    }
    ADD_FAILURE() << "no field is described with: " << meaning;
    return "";
  }
};

TEST_P(Families, RandomConfigurationsVerify) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const ModelConfig config = family().draw(random);
    const Case c = family().build(config);
    ASSERT_NO_THROW(verify(c, op_table()));
    EXPECT_EQ(c.model, config);
    EXPECT_EQ(c.wrt.empty(), !std::get<bool>(config.fields.at("gradients")));
    for (const ProgramInput& input : c.program.inputs) {  // parameters that nothing reads
      const bool read = std::ranges::any_of(c.program.nodes, [&](const Node& node) {
        return std::ranges::any_of(operands(node),
                                   [&](const Ref& r) { return r.name == input.name; });
      });
      EXPECT_TRUE(read) << input.name;
    }
  }
}

// A field that never changes would test nothing.
TEST_P(Families, EveryFieldIsDrawn) {
  Random random(2);
  const ModelConfig first = family().draw(random);
  std::set<std::string> varied;
  for (int i = 0; i < 200; ++i) {
    for (const auto& [name, value] : family().draw(random).fields) {
      if (value != first.fields.at(name)) varied.insert(name);
    }
  }
  EXPECT_EQ(varied.size(), family().fields.size());
}

// Reduction goes from field to field towards the smallest values: they must be a model, and mostly
// each of them must go with the others as they were.
TEST_P(Families, TheSmallestValuesAreAConfiguration) {
  verify(family().build(smallest()), op_table());
}

TEST_P(Families, MostFieldsGoToTheirSmallestValueAlone) {
  Random random(3);
  std::map<std::string, int> accepted;
  constexpr int kConfigurations = 50;
  for (int i = 0; i < kConfigurations; ++i) {
    const ModelConfig config = family().draw(random);
    for (const ConfigField& field : family().fields) {
      ModelConfig smaller = config;
      smaller.fields[std::string(field.name)] = field.smallest;
      accepted[std::string(field.name)] += refusal(smaller) == "accepted";
    }
  }
  for (const auto& [name, count] : accepted) {
    EXPECT_GT(count, name.find("max_") == 0 ? -1 : 0) << name;
  }
}

TEST_P(Families, RefusesWhatIsNotAModelAndNamesTheField) {
  const auto with = [&](const std::string& field, auto value) {
    ModelConfig config = smallest();
    config.fields[field] = value;
    return refusal(config);
  };
  const std::string query_heads = field_with("query heads"), kv_heads = field_with("key and value");
  EXPECT_THAT(with(kv_heads, std::int64_t{2}), HasSubstr(query_heads + ": must be a multiple"));
  EXPECT_THAT(with("batch", std::int64_t{0}), HasSubstr("batch: must be at least 1"));
  EXPECT_THAT(with("length", std::int64_t{2}), HasSubstr(field_with("positions that")));
  EXPECT_THAT(with("dtype", std::string("int64")), HasSubstr("dtype"));
  EXPECT_THAT(with("batch", 1.0), HasSubstr("another type"));
  EXPECT_THAT(with("auto_map", std::string("x")),
              HasSubstr("not a field of " + std::string(family().name)));
  ModelConfig less = smallest();
  less.fields.erase("batch");
  EXPECT_THAT(refusal(less), HasSubstr("batch: is missing"));
}

// Another layer, or none: the other parameters keep their numbers, so that reduction changes one
// thing at a time.
TEST_P(Families, ParametersKeepTheirElementsWhenOthersGo) {
  ModelConfig two = smallest();
  two.fields[field_with("layers")] = std::int64_t{2};
  const Case a = family().build(smallest()), b = family().build(two);
  EXPECT_GT(b.inputs.size(), a.inputs.size());
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    for (std::size_t j = 0; j < b.inputs.size(); ++j) {
      if (a.program.inputs[i].name == b.program.inputs[j].name) {
        EXPECT_EQ(a.inputs[i], b.inputs[j]);
      }
    }
  }
}

// Planted faults look for these names.
TEST_P(Families, NamesKeysBeforeAndAfterRotation) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const Program program = family().build(family().draw(random)).program;
    ASSERT_NE(program.find_node("layer0_k_heads"), nullptr);
    ASSERT_NE(program.find_node("layer0_attention"), nullptr);
    const Node* after = program.find_node("layer0_k_rope");
    if (after == nullptr) continue;  // without rotary embedding
    const auto reads = [&](const Node& node) {
      return std::ranges::count(operands(node), Ref{"layer0_k_rope", 0}) == 1;
    };
    EXPECT_EQ(std::ranges::count_if(program.nodes, reads), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(families().begin(), families().end()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace ulpfuzz
