// `bisect` on the real torch: faults planted at a stage are named as of that stage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

// A tanh, and another loop over its input, which Inductor fuses with it.
constexpr const char* kTwoLoops = R"({
  "ulpfuzz": 1,
  "program": {
    "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 64]}],
    "nodes": [
      {"name": "y", "op": "aten.tanh.default", "args": {"self": {"ref": "x"}}},
      {"name": "z", "op": "aten.cos.default", "args": {"self": {"ref": "x"}}}
    ],
    "outputs": ["y", "z"]
  },
  "inputs": {"x": {"fill": {"kind": "normal", "seed": 1}}},
  "cotangents": [null, null]
})";

struct Planted {
  const char* fault;
  const char* stage;
};
void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.fault; }

class BisectStages : public testing::TestWithParam<Planted> {};

TEST_P(BisectStages, NamesTheStageOfAPlantedFault) {
  const Folder folder;
  write_text(folder / "case.json", kTwoLoops);
  const Output found = ulpfuzz_run({"bisect", (folder / "case.json").string(), "--stages",
                                    "--fault", GetParam().fault, "--json"});
  EXPECT_EQ(found.status, 1) << found.err;
  const auto object = found.json();
  EXPECT_EQ(object.at("stage"), GetParam().stage) << object.dump(1);
  EXPECT_TRUE(object.at("monotone")) << object.dump(1);
  EXPECT_THAT(object.at("finding").get<std::string>(), HasSubstr("wrong"));
}

INSTANTIATE_TEST_SUITE_P(Faults, BisectStages,
                         testing::Values(Planted{"stage-dynamo", "dynamo"},
                                         Planted{"stage-aot", "aot"},
                                         Planted{"stage-decompositions", "decompositions"},
                                         Planted{"stage-pre-grad", "pre-grad passes"},
                                         Planted{"stage-joint", "joint-graph passes"},
                                         Planted{"stage-post-grad", "post-grad passes"},
                                         Planted{"stage-lowering", "lowering"},
                                         Planted{"stage-vectorization", "vectorization"},
                                         Planted{"stage-fusion", "fusion"}),
                         [](const auto& instance) {
                           std::string name = instance.param.fault;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Bisect, ACleanSystemHasNothingToLookFor) {
  const Folder folder;
  write_text(folder / "case.json", kTwoLoops);
  const Output found = ulpfuzz_run({"bisect", (folder / "case.json").string(), "--stages"});
  EXPECT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("does not fail"));
}

TEST(Bisect, ErfIsOfTheVectorCode) {
  const Output found = ulpfuzz_run({"bisect", "corpus/erf-tiny.json", "--stages", "--json"});
  EXPECT_EQ(found.status, 1) << found.err;
  EXPECT_EQ(found.json().at("stage"), "vectorization") << found.out;
}

TEST(Bisect, RefusesWhatItCannotDo) {
  const std::string c = "corpus/erf-tiny.json";
  EXPECT_EQ(ulpfuzz_run({"bisect", c}).status, 2);
  EXPECT_EQ(ulpfuzz_run({"bisect", c, "--stages", "--versions", "2.9.1,2.11.0"}).status, 2);
  EXPECT_EQ(ulpfuzz_run({"bisect", c, "--versions", "2.9.1"}).status, 2);
  EXPECT_EQ(ulpfuzz_run({"bisect", c, "--stages", "--systems", "torchscript"}).status, 2);
}

// A release that the index does not have is untestable; the project's own serves its number.
TEST(Bisect, AReleaseThatCannotBeHadIsUntestable) {
  const Folder folder;
  const Output own = run_program({python(), "-c", "import torch; print(torch.__version__)"});
  const std::string version = own.out.substr(0, own.out.find_first_of("+\n"));
  const Output found =
      ulpfuzz_run({"bisect", "corpus/erf-tiny.json", "--versions", "1.99.7," + version, "--json"});
  EXPECT_EQ(found.status, 1) << found.err;
  const auto object = found.json();
  EXPECT_EQ(object.at("before"), "");
  ASSERT_EQ(object.at("answers").size(), 2u) << found.out;
  EXPECT_EQ(object.at("answers")[0].at("answer"), "fails");
  EXPECT_EQ(object.at("answers")[1].at("answer"), "untestable");
}

}  // namespace
}  // namespace ulpfuzz
