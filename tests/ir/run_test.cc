#include "ir/run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ir/error.h"
#include "ir/verdict.h"

namespace ulpfuzz {
namespace {

TEST(SystemSpecTest, ParsesAndPrintsBack) {
  for (const char* text :
       {"inductor", "eager@cpp", "eager@py@torch-2.14.0", "thunder[executors=a+b,x=1]",
        "inductor[fault=attn-scale=1.03]@torch-2.14.0", "eager@cpp[a=b]@e"}) {
    EXPECT_EQ(to_string(parse_system(text)), text);
  }
  const SystemSpec system = parse_system("eager@cpp[fault=attn-scale=1.03]@torch-2.14.0");
  EXPECT_EQ(system.name, "eager@cpp");
  EXPECT_EQ(system.environment, "torch-2.14.0");
  EXPECT_EQ(system.options.at("fault"), "attn-scale=1.03");
  EXPECT_EQ(parse_system("inductor@python").environment, "python");
  EXPECT_EQ(to_string(parse_system("a[y=1,x=2]")), "a[x=2,y=1]");
}

TEST(SystemSpecTest, ListsSplitOutsideBrackets) {
  const std::vector<SystemSpec> systems = parse_systems("eager@py,thunder[a=1,b=2],inductor");
  ASSERT_EQ(systems.size(), 3u);
  EXPECT_EQ(systems[1].options.size(), 2u);
}

TEST(SystemSpecTest, RefusesOthers) {
  for (const char* text : {"", "@env", "a[", "a[x]", "a[=1]", "a[x=1]b", "a b", "a@", "a,b"}) {
    EXPECT_THROW(parse_system(text), Error) << text;
  }
  EXPECT_THROW(parse_systems("a,,b"), Error);
}

TEST(RunRecordTest, RequestsHashAllTheyHold) {
  RunRequest request;
  request.system = parse_system("inductor");
  const std::string hash = request.hash();
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(request.hash(), hash);
  RunRequest other = request;
  other.input_sets = {1};
  EXPECT_NE(other.hash(), hash);
  other = request;
  other.system.options["a"] = "1";
  EXPECT_NE(other.hash(), hash);
  other = request;
  other.profile = true;
  EXPECT_NE(other.hash(), hash);
  other = request;
  other.test.environment.threads = 2;
  EXPECT_NE(other.hash(), hash);
}

template <class T>
TensorResult tensor(DType dtype, std::vector<T> values) {
  TensorResult result;
  result.name = "output 0";
  result.layout.dtype = dtype;
  result.bytes.resize(values.size() * sizeof(T));
  std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

TEST(RunRecordTest, ElementsAreDecoded) {
  EXPECT_EQ(tensor<float>(DType::kComplex64, {1.5f, -2.0f}).reals(),
            (std::vector<double>{1.5, -2}));
  EXPECT_EQ(tensor<std::uint16_t>(DType::kBFloat16, {0x3f80, 0xc000}).reals(),
            (std::vector<double>{1, -2}));
  EXPECT_EQ(tensor<std::uint16_t>(DType::kFloat16, {0x3c00, 0x0001}).reals(),
            (std::vector<double>{1, 0x1p-24}));
  EXPECT_EQ(tensor<std::int8_t>(DType::kInt8, {-1, 5}).integers(),
            (std::vector<std::int64_t>{-1, 5}));
  EXPECT_EQ(tensor<std::uint8_t>(DType::kUInt8, {255}).integers(),
            (std::vector<std::int64_t>{255}));
  EXPECT_THROW(tensor<float>(DType::kFloat32, {1}).integers(), Error);
}

TEST(RunRecordTest, JsonIsFixed) {
  ulpfuzz::Run run;
  run.status = ulpfuzz::Run::Status::kRaised;
  run.stage = Stage::kCompile;
  run.exception_type = "RuntimeError";
  run.exception_message = "no \xff";
  Execution execution;
  execution.tensors.push_back(tensor<float>(DType::kFloat32, {1}));
  execution.tensors[0].layout = {DType::kFloat32, {1}, {1}, 0};
  run.executions.push_back(execution);
  run.cpu_seconds = {{"compile", 1.5}, {"forward", 0.5}};
  EXPECT_EQ(
      to_json(run),
      R"({"counters":{},"cpu_seconds":{"compile":1.5,"forward":0.5},)"
      R"("exception":{"message":"no )"
      "\xef\xbf\xbd"
      R"(","type":"RuntimeError"},"executions":[{"input_set":"0","tensors":[{"alias_of":"",)"
      R"("layout":{"dtype":"float32","offset":0,"shape":[1],"strides":[1]},"name":"output 0",)"
      R"("present":true,"role":"output",)"
      R"("sha256":"e00e5eb9444182f352323374ef4e08ebcb784725fdd4fd612d7730540b3e0c8c"}]}],)"
      R"("kernels":[],"packed_with":1,"stage":"compile","status":"raised","stock":false,"versions":{},)"
      R"("wall_seconds":0.0,"worker_text":""})");
  EXPECT_EQ(run.total_cpu_seconds(), 2.0);
  EXPECT_EQ(to_string(execution.tensors[0].layout), "float32[1] strides [1]");
}

TEST(RunRecordTest, StagesParseBack) {
  for (int i = 0; i <= static_cast<int>(Stage::kEnd); ++i) {
    const auto stage = static_cast<Stage>(i);
    EXPECT_EQ(parse_stage(name(stage)), stage);
  }
}

TEST(VerdictTest, NamesParseBackAndPrecedenceIsTheOrder) {
  for (int i = 0; i <= static_cast<int>(VerdictKind::kAgree); ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    EXPECT_EQ(parse_verdict_kind(name(kind)), kind);
  }
  EXPECT_EQ(name(VerdictKind::kStrideAssert), "stride-assert");
  EXPECT_TRUE(is_finding(VerdictKind::kLessAccurate));
  EXPECT_FALSE(is_finding(VerdictKind::kDiscontinuity));
  EXPECT_EQ(primary({}), VerdictKind::kAgree);
  EXPECT_EQ(primary({{.kind = VerdictKind::kWrong}, {.kind = VerdictKind::kCrash}}),
            VerdictKind::kCrash);
}

// A signature must survive reduction: no sizes, indices or names of tensors.
TEST(VerdictTest, SignaturesLeaveNumbersOut) {
  const auto of = [](VerdictKind kind, std::string tensor, std::string detail) {
    Verdict verdict;
    verdict.system = "inductor";
    verdict.primary = kind;
    verdict.facts = {{.kind = kind, .tensor = std::move(tensor), .detail = std::move(detail)}};
    return to_string(signature(verdict));
  };
  EXPECT_EQ(of(VerdictKind::kStrideAssert, "", "AssertionError in compile: expected size 32==32"),
            "inductor: stride-assert (AssertionError in compile)");
  EXPECT_EQ(of(VerdictKind::kMetadata, "gradient of x",
               "gradient of x: strides (3, 1) where eager's are (1, 4)"),
            "inductor: metadata (strides where eager's are)");
  EXPECT_EQ(of(VerdictKind::kMetadata, "output 0", "output 0: dtype float32 where eager's is int8"),
            "inductor: metadata (dtype float32 where eager's is int8)");
  EXPECT_EQ(of(VerdictKind::kCrash, "", "died in forward with signal 11"),
            "inductor: crash (died in forward with signal)");
  EXPECT_EQ(of(VerdictKind::kWrong, "output 0", "output 0[7] = 3"), "inductor: wrong");
}

}  // namespace
}  // namespace ulpfuzz
