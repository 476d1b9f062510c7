// From a failing case to a report, and the corpus against what is expected of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ir/case.h"
#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Finding, TheFftInALargerProgramIsReducedToOneNodeWithARepro) {
  Folder folder;
  const Output output = ulpfuzz_run({"minimize", "corpus/fft-in-larger-program.json", "-o",
                                     folder / "found", "--explain", "--json"});
  ASSERT_EQ(output.status, 1) << output.err;
  const auto object = output.json();
  EXPECT_EQ(object.at("verdict"), "stride-assert");
  EXPECT_EQ(object.at("system"), "inductor");
  EXPECT_EQ(object.at("nodes"), 1);
  EXPECT_TRUE(object.at("reduced"));
  // Every single step was run, and none fails; sizes of 1 do not show the fault.
  int smaller = 0;
  for (const auto& [pass, counts] : object.at("single_steps").items()) {
    smaller += counts.at(0).get<int>();
    EXPECT_EQ(counts.at(1), 0) << pass;
  }
  EXPECT_GT(smaller, 0);
  EXPECT_THAT(object.at("conditions").get<std::string>(), HasSubstr("only if"));

  const Case minimal = read_case((folder / "found/minimal.json").string());
  ASSERT_EQ(minimal.program.nodes.size(), 1u);
  EXPECT_EQ(minimal.program.nodes[0].op, "aten.fft_rfft.default");
  EXPECT_THAT(read_text(folder / "found/report.md"), HasSubstr("fft"));

  // The script needs torch alone, from anywhere.
  const Output repro = run_program({python(), (folder / "found/repro.py").string()});
  EXPECT_EQ(repro.status, 1) << repro.out << repro.err;
  EXPECT_THAT(read_text(folder / "found/repro.py"), testing::Not(HasSubstr("ulpfuzz.")));
}

TEST(Finding, ACleanCaseLeavesNothingToReduce) {
  Folder folder;
  const Output output = ulpfuzz_run({"minimize", "corpus/argmax-ties.json", "-o", folder / "found",
                                     "--systems", "eager@cpp", "--json"});
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_FALSE(output.json().at("found"));
  EXPECT_FALSE(fs::exists(folder / "found"));
}

TEST(Corpus, IsAsExpected) {
  Folder folder;
  const Output output = ulpfuzz_run({"replay", "corpus", "--junit", folder / "out.xml", "--json"});
  const auto object = output.json();
  for (const auto& one : object.at("cases")) {
    EXPECT_TRUE(one.at("as_expected"))
        << one.at("name") << ": expected " << one.at("expected") << ", found " << one.at("found");
  }
  EXPECT_EQ(output.status, 0);
  EXPECT_GE(object.at("total"), 23);
  const std::string xml = read_text(folder / "out.xml");
  EXPECT_THAT(xml, HasSubstr("<testsuite"));
  EXPECT_THAT(xml, HasSubstr("golden-rope"));
}

TEST(Corpus, ABrokenExpectationIsStatusOneAndNamed) {
  Folder folder;
  fs::copy("corpus/argmax-ties.json", folder / "ties.json");
  write_text(folder / "ties.expect.json",
             R"({"expect": [{"system": "eager@cpp", "verdict": "wrong"}]})");
  const Output output = ulpfuzz_run({"replay", folder.path(), "--junit", folder / "o.xml"});
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.out, HasSubstr("ties"));
  EXPECT_THAT(read_text(folder / "o.xml"), HasSubstr("failure"));
}

}  // namespace
}  // namespace ulpfuzz
