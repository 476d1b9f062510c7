// What NAME.expect.json may say, and for which releases it holds.
#include "cli/expectation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ExpectationTest : public testing::Test {
 protected:
  ExpectationTest() : case_(fs::temp_directory_path() / ("case-" + std::to_string(getpid()))) {
    case_ += ".json";
    file_ = case_;
    file_.replace_extension(".expect.json");
  }
  ~ExpectationTest() override { fs::remove(file_); }

  std::vector<Expectation> read(const std::string& text) {
    std::ofstream(file_) << text;
    return read_expectations(case_);
  }
  std::string error_of(const std::string& text) {
    try {
      read(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  fs::path case_, file_;
};

TEST_F(ExpectationTest, EveryFieldIsRead) {
  const auto all = read(R"({"expect": [
      {"system": "inductor", "verdict": "stride-assert", "torch": "2.8.0..2.11.0"},
      {"system": "eager@py", "verdict": "clean"}]})");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].system, "inductor");
  EXPECT_EQ(all[0].verdict, "stride-assert");
  EXPECT_EQ(all[0].first, "2.8.0");
  EXPECT_EQ(all[0].last, "2.11.0");
  EXPECT_EQ(all[1].verdict, "clean");
  EXPECT_TRUE(all[1].first.empty());
}

TEST_F(ExpectationTest, ErrorsNameTheFileAndThePlace) {
  EXPECT_THAT(
      error_of(R"({"expect": [{"system": "inductor", "verdict": "wrongish"}]})"),
      AllOf(HasSubstr(file_.string()), HasSubstr("/expect/0/verdict"), HasSubstr("wrongish")));
  EXPECT_THAT(error_of(R"({"expect": [{"verdict": "clean"}]})"), HasSubstr("/expect/0"));
  EXPECT_THAT(error_of(R"({"expect": [{"system": "inductor"}]})"), HasSubstr("/expect/0"));
  EXPECT_THAT(error_of(R"({"expect": [{"system": 7, "verdict": "clean"}]})"), HasSubstr("system"));
  EXPECT_THAT(error_of(R"({"expect": [{"system": "a", "verdict": "clean", "torch": "2.11.0"}]})"),
              HasSubstr("/expect/0/torch"));
  EXPECT_THAT(
      error_of(R"({"expect": [{"system": "a", "verdict": "clean", "torch": "new..2.11.0"}]})"),
      HasSubstr("/expect/0/torch"));
  EXPECT_THAT(error_of(R"({"expect": [{"system": "a", "verdict": "clean", "why": "x"}]})"),
              HasSubstr("why"));
  EXPECT_THAT(error_of(R"({"expect": 7})"), HasSubstr("expect"));
  EXPECT_THAT(error_of(R"({"expect": [7]})"), HasSubstr("/expect/0"));
  EXPECT_THAT(error_of("not JSON"), HasSubstr(file_.string()));
}

TEST_F(ExpectationTest, ACaseOfWhichNothingIsExpectedIsAnError) {
  EXPECT_THROW(read_expectations(case_), Error);  // no such file
  EXPECT_NE(error_of(R"({"expect": []})"), "");
}

TEST(Applies, BothEndsOfTheRangeAreIn) {
  const Expectation e{"inductor", "wrong", "2.8.0", "2.11.0"};
  EXPECT_TRUE(applies(e, "2.8.0"));
  EXPECT_TRUE(applies(e, "2.9.1"));
  EXPECT_TRUE(applies(e, "2.11.0"));
  EXPECT_FALSE(applies(e, "2.7.1"));
  EXPECT_FALSE(applies(e, "2.11.1"));
  EXPECT_FALSE(applies(e, "2.12.0"));
}

TEST(Applies, ReleasesAreNumbersAndLocalPartsDoNotCount) {
  const Expectation e{"inductor", "wrong", "2.9.0", "2.11.0"};
  EXPECT_TRUE(applies(e, "2.10.0"));  // not as text
  EXPECT_TRUE(applies(e, "2.11.0+cu130"));
  EXPECT_FALSE(applies(e, "2.11.1+cpu"));
}

TEST(Applies, OpenEnds) {
  EXPECT_TRUE(applies({"inductor", "wrong", "", ""}, "1.0.0"));
  EXPECT_TRUE(applies({"inductor", "wrong", "2.8.0", ""}, "9.0.0"));
  EXPECT_FALSE(applies({"inductor", "wrong", "2.8.0", ""}, "2.7.1"));
  EXPECT_TRUE(applies({"inductor", "wrong", "", "2.8.0"}, "2.4.1"));
}

}  // namespace
}  // namespace ulpfuzz
