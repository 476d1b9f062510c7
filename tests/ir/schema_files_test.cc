// The JSON Schemas of ir/schema/ are true: what is written is valid, and what is not a record is
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/case.h"
#include "ir/json.h"
#include "ir/run.h"
#include "ir/verdict.h"
#include "tests/ir/full_case.h"
#include "tests/ir/json_schema.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

// Tests run in the source root.
const JsonSchemas& schemas() {
  static const JsonSchemas read("ir/schema");
  return read;
}

TEST(SchemaFilesTest, WrittenCasesAreValid) {
  EXPECT_EQ(schemas().check("case.schema.json", Json::parse(to_json(full_case()))), "");
  Case model;
  model.model = full_case().model;
  EXPECT_EQ(schemas().check("case.schema.json", Json::parse(to_json(model))), "");
  EXPECT_EQ(schemas().check("case.schema.json", Json::parse(to_json(Case()))), "");
}

TEST(SchemaFilesTest, BrokenCasesAreNot) {
  const auto error = [](const char* pointer, const Json& value) {
    Json json = Json::parse(to_json(full_case()));
    json[Json::json_pointer(pointer)] = value;
    return schemas().check("case.schema.json", json);
  };
  EXPECT_THAT(error("/spare", 1), HasSubstr("/spare: may not be here"));
  EXPECT_THAT(error("/ulpfuzz", 2), HasSubstr("/ulpfuzz: is not 1"));
  EXPECT_THAT(error("/environment/threads", 0), HasSubstr("/environment/threads: breaks minimum"));
  EXPECT_THAT(error("/environment/device", "tpu"), HasSubstr("/environment/device: is not one of"));
  EXPECT_THAT(error("/environment/grad", 1), HasSubstr("/environment/grad: is not \"boolean\""));
  EXPECT_THAT(error("/program/nodes/0/args/dim", Json{{"integer", "1"}}),
              HasSubstr("fits no anyOf"));
  EXPECT_THAT(error("/program/outputs/0", "x:0"), HasSubstr("/program/outputs/0: does not match"));
  EXPECT_THAT(error("/inputs/x/fill/seed", 7), HasSubstr("/inputs/x/fill/seed: is not \"string\""));
  Json json = Json::parse(to_json(full_case()));
  json["inputs"]["x"].erase("fill");
  EXPECT_THAT(schemas().check("case.schema.json", json), HasSubstr("/inputs/x: lacks \"fill\""));
}

TEST(SchemaFilesTest, WrittenRunsAreValid) {
  ulpfuzz::Run run;
  run.status = ulpfuzz::Run::Status::kRaised;
  run.exception_type = "RuntimeError";
  run.signal = 11;
  Execution execution;
  execution.tensors.resize(2);
  execution.tensors[1].present = false;
  run.executions = {execution};
  run.kernels = {{"aten::bmm", "forward", 2, {{"", TensorLayout()}}, {{"self", TensorLayout()}}}};
  run.counters = {{"graphs", 1}};
  run.versions = {{"torch", "2.11.0"}};
  run.cpu_seconds = {{"compile", 1.5}};
  EXPECT_EQ(schemas().check("run.schema.json", Json::parse(to_json(run))), "");
  for (int status = 0; status <= static_cast<int>(ulpfuzz::Run::Status::kNotCompiled); ++status) {
    run.status = static_cast<ulpfuzz::Run::Status>(status);
    EXPECT_EQ(schemas().check("run.schema.json", Json::parse(to_json(run))), "");
  }
  for (int stage = 0; stage <= static_cast<int>(Stage::kEnd); ++stage) {
    run.stage = static_cast<Stage>(stage);
    EXPECT_EQ(schemas().check("run.schema.json", Json::parse(to_json(run))), "");
  }
}

TEST(SchemaFilesTest, WrittenVerdictsAreValid) {
  Verdict verdict;
  verdict.measures.resize(1);
  verdict.kernels = {{"aten::bmm", "backward", "saved self", "float32[1] strides [1]", ""}};
  verdict.measures[0].rms_ratio = std::numeric_limits<double>::infinity();
  verdict.measures[0].deviations = {{0.5, 0.1}, {-std::numeric_limits<double>::infinity(), 0}};
  for (int kind = 0; kind <= static_cast<int>(VerdictKind::kAgree); ++kind) {
    verdict.primary = static_cast<VerdictKind>(kind);
    verdict.facts = {{.kind = verdict.primary, .statistic = 0.5}};
    EXPECT_EQ(schemas().check("verdict.schema.json", Json::parse(to_json(verdict))), "");
  }
}

TEST(SchemaFilesTest, Frames) {
  const auto valid = [](const char* text) {
    return schemas().check("protocol.schema.json", Json::parse(text)).empty();
  };
  EXPECT_TRUE(valid(R"({"type":"hello","protocol":1,"worker":"python","systems":["eager@py"],
                        "versions":{"torch":"2.11.0"}})"));
  EXPECT_FALSE(valid(R"({"type":"hello","protocol":2,"worker":"python","systems":[],
                         "versions":{}})"));
  EXPECT_TRUE(valid(R"({"type":"stage","id":7,"stage":"compile"})"));
  EXPECT_FALSE(valid(R"({"type":"stage","id":7,"stage":"end"})"));
  EXPECT_TRUE(valid(R"({"type":"bye"})"));
  EXPECT_FALSE(valid(R"({"type":"hi"})"));
  EXPECT_TRUE(valid(R"({"type":"result","id":7,"fds":1,"runs":[{"status":"completed",
    "stage":"end","executions":[{"input_set":"0","tensors":[{"role":"output","name":"output 0",
    "present":true,"dtype":"float32","shape":[4],"strides":[1],"offset":0,"alias_of":"x","at":0,
    "bytes":16}]}],"kernels":[],"counters":{"graphs":1},"versions":{},
    "cpu_seconds":{"compile":1.2},"wall_seconds":1.4}]})"));
  EXPECT_FALSE(valid(R"({"type":"result","id":7,"fds":1,"runs":[{"status":"crashed",
    "stage":"end"}]})"));
}

TEST(SchemaFilesTest, RunFramesHoldACaseOrASource) {
  Json item = {{"inputs", Json::array()},
               {"cotangents", Json::array()},
               {"wrt", Json::array()},
               {"input_sets", {"0"}},
               {"case", json_of(full_case())}};
  const auto error = [&] {
    return schemas().check(
        "protocol.schema.json",
        {{"type", "run"},
         {"id", 7},
         {"system", "inductor"},
         {"options", Json::object()},
         {"environment", json_of(Environment())},
         {"limits", {{"cpu_seconds", 60}, {"wall_seconds", 600}, {"memory_bytes", 1}}},
         {"profile", false},
         {"items", Json::array({item})}});
  };
  EXPECT_EQ(error(), "");
  item["source"] = "def program(): ...";
  EXPECT_NE(error(), "");
  item.erase("case");
  EXPECT_EQ(error(), "");
  item["cotangents"] = Json::array(
      {nullptr,
       {{"dtype", "float32"}, {"shape", {4}}, {"strides", {1}}, {"fill", json_of(Fill())}}});
  EXPECT_EQ(error(), "");
  item["cotangents"][1]["fill"]["kind"] = "none";
  EXPECT_NE(error(), "");
}

}  // namespace
}  // namespace ulpfuzz
