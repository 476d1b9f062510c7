#include "systems/result.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "ir/error.h"

// A result frame is believed only when all of it is well-formed.
namespace ulpfuzz {
namespace {

using Json = nlohmann::json;

const std::vector<ExpectedRun> kExpected{{{17},
                                          {{TensorResult::Role::kOutput, "output 0"},
                                           {TensorResult::Role::kGradient, "gradient of x"}}}};

Json good() {
  return Json::parse(R"({"type":"result","id":7,"fds":1,"runs":[
    {"status":"completed","stage":"end","counters":{"graphs":1},"versions":{"torch":"2"},
     "cpu_seconds":{"forward":0.5},"wall_seconds":1.5,
     "kernels":[{"name":"aten::bmm","phase":"forward","count":2,
       "outputs":[{"name":"","layout":{"dtype":"float32","shape":[2],"strides":[3],"offset":5}}],
       "inputs":[]}],
     "executions":[{"input_set":"17","tensors":[
       {"role":"output","name":"output 0","present":true,"dtype":"float32","shape":[2],
        "strides":[1],"offset":0,"alias_of":"","at":0,"bytes":8},
       {"role":"gradient","name":"gradient of x","present":false}]}]}]})");
}

Frame frame_of(const Json& json, const std::vector<float>& elements = {1.5F, -2.0F}) {
  Frame frame;
  frame.text = json.dump();
  frame.fds.emplace_back(::memfd_create("result_test", MFD_CLOEXEC));
  const std::size_t bytes = elements.size() * sizeof(float);
  EXPECT_EQ(::write(frame.fds[0].get(), elements.data(), bytes), static_cast<ssize_t>(bytes));
  return frame;
}

TEST(Result, IsReadWhole) {
  const auto run = read_result(frame_of(good()), kExpected).front();
  ASSERT_TRUE(run.completed());
  EXPECT_EQ(run.executions[0].input_set, 17u);
  EXPECT_EQ(run.executions[0].tensors[0].reals(), (std::vector<double>{1.5, -2}));
  EXPECT_FALSE(run.executions[0].tensors[1].present);
  EXPECT_EQ(run.counters.at("graphs"), 1);
  EXPECT_EQ(run.cpu_seconds.at("forward"), 0.5);
  EXPECT_EQ(run.kernels[0].count, 2);
  ASSERT_EQ(run.kernels[0].outputs.size(), 1u);
  EXPECT_EQ(to_string(run.kernels[0].outputs[0].layout), "float32[2] strides [3] offset 5");
}

TEST(Result, AnyOtherValueInAnyPlaceIsRefusedOrHarmless) {
  const Json whole = good();
  const Json values[] = {nullptr,
                         -1,
                         1e300,
                         "x",
                         Json::array(),
                         Json::object(),
                         true,
                         Json::array({-1}),
                         Json::array({1LL << 62, 1LL << 62}),
                         std::numeric_limits<std::int64_t>::max()};
  int refused = 0;
  const Json leaves = whole.flatten();  // items() only refers to it
  for (const auto& [pointer, leaf] : leaves.items()) {
    for (const Json& value : values) {
      Json changed = whole;
      changed[Json::json_pointer(pointer)] = value;
      try {
        read_result(frame_of(changed), kExpected);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

void expect_refused(const std::string& pointer, const Json& value) {
  Json changed = good();
  changed[Json::json_pointer(pointer)] = value;
  EXPECT_THROW(read_result(frame_of(changed), kExpected), Error) << pointer << " " << value;
}

TEST(Result, ElementsOutsideOfTheMemoryAreRefused) {
  const std::string tensor = "/runs/0/executions/0/tensors/0";
  expect_refused(tensor + "/at", 1);
  expect_refused(tensor + "/at", -8);
  expect_refused(tensor + "/at", std::int64_t{1} << 62);
  expect_refused(tensor + "/bytes", 4);  // not what the shape needs
  expect_refused(tensor + "/shape", {3});
  expect_refused(tensor + "/shape", {std::int64_t{1} << 61});
  expect_refused(tensor + "/shape", {-1});
  expect_refused(tensor + "/strides", {1, 1});
  expect_refused(tensor + "/dtype", "float31");
  expect_refused(tensor + "/present", false);  // an output cannot be None
  expect_refused(tensor + "/name", "output 1");
  expect_refused("/runs/0/executions/0/input_set", "18");
  expect_refused("/runs/0/executions", Json::array());
  expect_refused("/runs", Json::array());
}

// Ranges do not overlap, so a small memory cannot be made to stand for much.
TEST(Result, TheSameElementsTwiceAreRefused) {
  Json json = good();
  Json& tensors = json["runs"][0]["executions"][0]["tensors"];
  tensors[1] = tensors[0];
  tensors[1]["name"] = "gradient of x";
  EXPECT_THROW(read_result(frame_of(json), kExpected), Error);
}

TEST(Result, AnythingButAMemfdIsRefused) {
  Frame frame = frame_of(good());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd other(ends[1]);
  frame.fds[0].reset(ends[0]);
  EXPECT_THROW(read_result(frame, kExpected), Error);
  frame.fds.clear();
  EXPECT_THROW(read_result(frame, kExpected), Error);
}

}  // namespace
}  // namespace ulpfuzz
