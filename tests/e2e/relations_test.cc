// Relations on real systems: they hold, and a planted fault is caught by two runs alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

const std::string kAttention = R"({"ulpfuzz": 1, "program": {
    "inputs": [{"name": "q", "dtype": "float32", "shape": [2, 4, 6, 8]},
               {"name": "k", "dtype": "float32", "shape": [2, 2, 6, 8]},
               {"name": "v", "dtype": "float32", "shape": [2, 2, 6, 8]}],
    "nodes": [{"name": "y", "op": "aten.scaled_dot_product_attention.default",
               "args": {"query": {"ref": "q"}, "key": {"ref": "k"}, "value": {"ref": "v"},
                        "is_causal": {"bool": true}, "enable_gqa": {"bool": true}}}],
    "outputs": ["y"]},
    "inputs": {"q": {"fill": {"kind": "normal", "seed": "1"}},
               "k": {"fill": {"kind": "normal", "seed": "2"}},
               "v": {"fill": {"kind": "normal", "seed": "3"}}},
    "cotangents": [null]})";

TEST(Relations, HoldOfRealSystemsAndShowAFaultWithoutExactValues) {
  Folder folder;
  write_text(folder / "attention.json", kAttention);
  const Output output =
      ulpfuzz_run({"judge", folder / "attention.json", "--no-values", "--json", "--relations",
                   "all", "--systems", "inductor,inductor[fault=kv-interleave]"});
  ASSERT_EQ(output.status, 1) << output.err;
  const auto judged = output.json();
  const auto verdicts = verdicts_of(judged);
  EXPECT_EQ(verdicts.at("eager@py"), "agree") << judged;
  EXPECT_EQ(verdicts.at("inductor"), "agree") << judged;
  EXPECT_EQ(verdicts.at("inductor[fault=kv-interleave]"), "wrong");
  for (const auto& system : judged.at("systems")) {
    if (system.at("system") != "inductor[fault=kv-interleave]") continue;
    ASSERT_FALSE(system.at("facts").empty());
    for (const auto& fact : system.at("facts")) {
      EXPECT_EQ(fact.at("strength"), "relation");
      EXPECT_THAT(fact.at("detail").get<std::string>(), HasSubstr("gqa-repeated: output 0"));
    }
  }
}

// Nor is the fault seen when its relation is not held.
TEST(Relations, AreHeldWhereChosen) {
  Folder folder;
  write_text(folder / "attention.json", kAttention);
  EXPECT_EQ(ulpfuzz_run({"judge", folder / "attention.json", "--no-values", "--relations", "none",
                         "--systems", "inductor", "--fault", "kv-interleave"})
                .status,
            0);
  EXPECT_EQ(
      ulpfuzz_run({"judge", folder / "attention.json", "--relations", "gqa", "--no-values"}).status,
      2);
}

// AOTAutograd's graphs draw eager's numbers; planted noise breaks that.
TEST(Relations, EqualGeneratorStateDrawsEqualNumbers) {
  Folder folder;
  write_text(folder / "dropout.json", R"({"ulpfuzz": 1, "program": {
      "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 16]}],
      "nodes": [{"name": "r", "op": "aten.rand_like.default", "args": {"self": {"ref": "x"}}},
                {"name": "b", "op": "aten.bernoulli.p", "args": {"self": {"ref": "x"}, "p": {"float": "3fd3333333333333"}}},
                {"name": "d", "op": "aten.dropout.default",
                 "args": {"input": {"ref": "x"}, "p": {"float": "3fd999999999999a"}, "train": {"bool": true}}},
                {"name": "y", "op": "aten.mul.Tensor", "args": {"self": {"ref": "r"},
                 "other": {"ref": "d"}}}],
      "outputs": ["y", "b"]},
      "inputs": {"x": {"fill": {"kind": "normal"}}}, "cotangents": [null, null]})");
  const Output output =
      ulpfuzz_run({"judge", folder / "dropout.json", "--json", "--relations", "equal-random",
                   "--systems", "aot_eager,aot_eager[fault=nondeterministic]"});
  const auto judged = output.json();
  for (const auto& system : judged.at("systems")) {
    const bool planted = system.at("system") == "aot_eager[fault=nondeterministic]";
    EXPECT_EQ(system.at("facts").dump().find("equal-random") != std::string::npos, planted)
        << system;
  }
}

}  // namespace
}  // namespace ulpfuzz
