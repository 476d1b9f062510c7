// An adjudication answers for the alarm that a person has seen, and for no other.
#include "calibration/adjudication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/json.h"
#include "tests/ir/json_schema.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

const std::string kHash(64, 'a');

Json entry() {
  return {{"system", "inductor"},
          {"verdict", "wrong"},
          {"sort", ""},
          {"place", "output"},
          {"operators", {"aten.argmin.default", "aten.relu.default"}},
          {"adjudged", "real"},
          {"why", "argmin over int8 compares as unsigned"}};
}

AlarmKey alarm() {
  return {{VerdictKind::kWrong, "inductor", ""},
          "output",
          std::string(64, 'b'),
          {"aten.argmin.default", "aten.relu.default"}};
}

Adjudications read(const Json& list) { return Adjudications::parse(list.dump(), "a.json"); }

std::string error_of(const Json& list) {
  try {
    read(list);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Adjudications, AnswerForTheirOperators) {
  const Adjudications known = read(Json::array({entry()}));
  const Adjudication* found = known.find(alarm());
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->real);
  EXPECT_THAT(found->why, HasSubstr("int8"));
}

// Proves: nothing else is hidden: each property that differs makes another alarm.
TEST(Adjudications, HideNothingElse) {
  const Adjudications known = read(Json::array({entry()}));
  const auto hidden = [&](auto change) {
    AlarmKey other = alarm();
    change(other);
    return known.find(other) != nullptr;
  };
  EXPECT_FALSE(hidden([](AlarmKey& a) { a.signature.kind = VerdictKind::kNanMismatch; }));
  EXPECT_FALSE(hidden([](AlarmKey& a) { a.signature.system = "inductor@torch-2.15.0"; }));
  EXPECT_FALSE(hidden([](AlarmKey& a) { a.signature.detail = "strides"; }));
  EXPECT_FALSE(hidden([](AlarmKey& a) { a.place = "gradient"; }));
  // A program that has these operators and one more may fail for another reason, and so may one
  // that has fewer.
  EXPECT_FALSE(hidden([](AlarmKey& a) { a.operators.insert("aten.sin.default"); }));
  EXPECT_FALSE(hidden([](AlarmKey& a) { a.operators.erase("aten.relu.default"); }));
  // Not reduced.
  EXPECT_FALSE(hidden([](AlarmKey& a) { a.operators.clear(); }));
}

// Proves: an entry for a case answers for that case alone, whatever is left of others.
TEST(Adjudications, OfACaseAnswerForItAlone) {
  Json of_case = entry();
  of_case.erase("operators");
  of_case["case"] = kHash;
  of_case["adjudged"] = "false";
  const Adjudications known = read(Json::array({of_case}));
  AlarmKey same = alarm();
  same.case_hash = kHash;
  ASSERT_NE(known.find(same), nullptr);
  EXPECT_FALSE(known.find(same)->real);
  EXPECT_EQ(known.find(alarm()), nullptr);
  same.place = "gradient";
  EXPECT_EQ(known.find(same), nullptr);
}

TEST(Adjudications, SayWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(Json::array()), "");
  EXPECT_THAT(error_of(Json::object()), HasSubstr("must be an array"));
  const auto error = [](const char* pointer, const Json& value) {
    Json list = Json::array({entry()});
    list[Json::json_pointer(pointer)] = value;
    return error_of(list);
  };
  EXPECT_THAT(error("/0/system", 1), HasSubstr("a.json#/0/system: must be a string"));
  EXPECT_THAT(error("/0/system", ""), HasSubstr("a.json#/0/system: is empty"));
  EXPECT_THAT(error("/0/verdict", "agree"), HasSubstr("a.json#/0/verdict: 'agree' is not"));
  EXPECT_THAT(error("/0/verdict", "bad"), HasSubstr("a.json#/0/verdict: 'bad' is not"));
  EXPECT_THAT(error("/0/place", "here"), HasSubstr("a.json#/0/place: is 'output'"));
  EXPECT_THAT(error("/0/adjudged", "maybe"), HasSubstr("a.json#/0/adjudged: is 'real' or"));
  EXPECT_THAT(error("/0/because", "x"), HasSubstr("a.json#/0/because: no member"));
  EXPECT_THAT(error("/0/case", kHash), HasSubstr("a.json#/0: has either"));
  EXPECT_THAT(error("/0/operators", Json::array()), HasSubstr("a.json#/0/operators: must be"));
  EXPECT_THAT(error("/0/operators/0", 3), HasSubstr("a.json#/0/operators/0: must be a string"));
  Json without = entry();
  without.erase("why");
  EXPECT_THAT(error_of(Json::array({without})), HasSubstr("a.json#/0: lacks 'why'"));
  without = entry();
  without.erase("operators");
  EXPECT_THAT(error_of(Json::array({without})), HasSubstr("a.json#/0: has either"));
  without["case"] = "abc";
  EXPECT_THAT(error_of(Json::array({without})), HasSubstr("a.json#/0/case: is not a SHA-256"));
  EXPECT_THAT(error_of(Json::array({entry(), entry()})),
              HasSubstr("a.json#/1: says the same as entry 0"));
}

// Proves: the committed file reads, and it and the schema agree on what an entry is.
TEST(Adjudications, CommittedFileIsValid) {
  EXPECT_NO_THROW(Adjudications::read("calibration/adjudicated.json"));
  EXPECT_THROW(Adjudications::read("calibration/no-such.json"), Error);
  const JsonSchemas schemas("calibration");
  EXPECT_EQ(schemas.check("adjudicated.schema.json", Json::array({entry()})), "");
  Json both = entry();
  both["case"] = kHash;
  EXPECT_NE(schemas.check("adjudicated.schema.json", Json::array({both})), "");
}

TEST(Adjudications, PlaceIsWhatTheVerdictIsAbout) {
  Verdict verdict;
  verdict.primary = VerdictKind::kWrong;
  verdict.facts = {{VerdictKind::kReordered, "output 0"}, {VerdictKind::kWrong, "gradient of w"}};
  EXPECT_EQ(place_of(verdict), "gradient");
  verdict.facts[1].tensor = "x after";
  EXPECT_EQ(place_of(verdict), "written input");
  verdict.facts[1].tensor = "output 3";
  EXPECT_EQ(place_of(verdict), "output");
  verdict.facts[1].tensor = "";
  EXPECT_EQ(place_of(verdict), "run");
}

}  // namespace
}  // namespace ulpfuzz
