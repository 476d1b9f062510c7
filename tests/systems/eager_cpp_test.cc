#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/table.h"
#include "systems/scheduler.h"
#include "tests/systems/cases.h"

// eager@cpp on programs whose results are known by hand.
namespace ulpfuzz {
namespace {

using Status = Run::Status;  // in a test, Run is GoogleTest's
using Runs = std::vector<Run>;

using testing::ElementsAre;
using testing::Pair;

Scheduler& scheduler() {
  static Scheduler instance(op_table(), {.jobs = 1});
  return instance;
}

Run run(const RunRequest& wish) {
  const RunRequest wishes[] = {wish};
  return scheduler().run(wishes).front();
}
Run run(const Case& c) { return run(request(c)); }

const TensorResult& result(const Run& r, std::string_view name) {
  static const TensorResult kNone;
  EXPECT_TRUE(r.completed()) << r.exception_message << r.worker_text;
  if (r.executions.empty()) return kNone;
  const TensorResult* tensor = r.executions.front().find(name);
  EXPECT_NE(tensor, nullptr) << name;
  return tensor != nullptr ? *tensor : kNone;
}

TEST(EagerCpp, AddsTwoTensors) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  const Ref y = b.input("y", DType::kFloat32, {2}, {10, 20});
  b.output(b.node("z", "add.Tensor", {{"self", x}, {"other", y}, {"alpha", Scalar{0.5}}}));
  const auto r = run(b.take());
  const TensorResult& z = result(r, "output 0");
  EXPECT_THAT(z.reals(), ElementsAre(6, 12, 8, 14));
  EXPECT_EQ(z.layout.dtype, DType::kFloat32);
  EXPECT_THAT(z.layout.strides, ElementsAre(2, 1));
  EXPECT_EQ(z.alias_of, "");
  EXPECT_TRUE(r.versions.contains("torch"));
}

// A number in a tensor slot is of its category only: int32 plus 0.5 is float32, not float64.
TEST(EagerCpp, NumbersPromoteAsWrappedOnes) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kInt32, {2}, {1, -3});
  b.output(b.node("y", "add.Tensor", {{"self", x}, {"other", Scalar{0.5}}}));
  b.output(b.node("z", "mul.Tensor", {{"self", x}, {"other", Scalar{std::int64_t{2}}}}));
  const auto r = run(b.take());
  EXPECT_EQ(result(r, "output 0").layout.dtype, DType::kFloat32);
  EXPECT_THAT(result(r, "output 0").reals(), ElementsAre(1.5, -2.5));
  EXPECT_EQ(result(r, "output 1").layout.dtype, DType::kInt32);
  EXPECT_THAT(result(r, "output 1").integers(), ElementsAre(2, -6));
}

TEST(EagerCpp, LayoutsAndAliasesAreReported) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 2}, 4);
  const Ref t = b.node("t", "transpose.int", {{"self", x}, {"dim0", Dim(0)}, {"dim1", Dim(1)}});
  b.output(t).output(b.node("y", "neg.default", {{"self", x}})).output(t);
  const auto r = run(b.take());
  const TensorResult& view = result(r, "output 0");
  EXPECT_THAT(view.reals(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(view.layout.strides, ElementsAre(2, 1));
  EXPECT_EQ(view.layout.offset, 4);
  EXPECT_EQ(view.alias_of, "x");
  EXPECT_THAT(result(r, "output 1").reals(), ElementsAre(-1, -2, -3, -4, -5, -6));
  EXPECT_THAT(result(r, "output 1").layout.strides, ElementsAre(1, 2));  // dense: kept
  EXPECT_EQ(result(r, "output 2").alias_of, "x");
}

TEST(EagerCpp, WrittenInputsComeBack) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {3}, {1, 2, 3});
  b.output(b.node("y", "mul_.Tensor", {{"self", x}, {"other", Scalar{2.0}}}));
  const auto r = run(b.take());
  EXPECT_THAT(result(r, "output 0").reals(), ElementsAre(2, 4, 6));
  EXPECT_EQ(result(r, "output 0").alias_of, "x");
  EXPECT_THAT(result(r, "x after").reals(), ElementsAre(2, 4, 6));
  EXPECT_EQ(result(r, "x after").role, TensorResult::Role::kWrittenInput);
}

TEST(EagerCpp, Differentiates) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat64, {2}, {3, 5});
  const Ref w = b.input("w", DType::kFloat64, {2}, {7, 11});
  b.input("unused", DType::kFloat64, {1}, {1});
  const Ref y = b.node("y", "mul.Tensor", {{"self", x}, {"other", w}});
  b.output(y, {1, 10}).output(x).wrt({"w", "x", "unused"});
  const auto r = run(b.take());
  EXPECT_THAT(result(r, "output 0").reals(), ElementsAre(21, 55));
  EXPECT_THAT(result(r, "gradient of w").reals(), ElementsAre(3, 50));
  EXPECT_THAT(result(r, "gradient of x").reals(), ElementsAre(7, 110));
  EXPECT_FALSE(result(r, "gradient of unused").present);
  ASSERT_EQ(r.executions.front().tensors.size(), 5u);
  EXPECT_EQ(r.executions.front().tensors[2].name, "gradient of w");  // wrt's order
}

TEST(EagerCpp, WithoutGradModeThereAreOnlyOutputs) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {1}, {0});
  b.output(b.node("y", "cos.default", {{"self", x}}));
  b.edit().environment.grad = false;
  const auto r = run(b.take());
  EXPECT_THAT(result(r, "output 0").reals(), ElementsAre(1));
  EXPECT_EQ(r.executions.front().tensors.size(), 1u);
}

TEST(EagerCpp, SeveralInputSetsInOrder) {
  Case c = plus_one(0);
  c.inputs[0].fill = {.kind = Fill::Kind::kInteger, .seed = 5, .high = 1'000'000};
  RunRequest wish = request(c);
  wish.input_sets = {3, 0, 3};
  const auto r = run(wish);
  ASSERT_EQ(r.executions.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Elements x = generate(c.inputs[0].fill, DType::kFloat32, {1}, wish.input_sets[i]);
    EXPECT_EQ(r.executions[i].input_set, wish.input_sets[i]);
    EXPECT_EQ(r.executions[i].tensors[0].reals()[0],
              static_cast<double>(static_cast<float>(x.reals[0]) + 1));
  }
}

TEST(EagerCpp, InputsOfOneClassShareTheirStorage) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4}, {1, 2, 3, 4}, {1}, 0, 0);
  const Ref y = b.input("y", DType::kFloat32, {2}, {0, 0}, {2}, 1, 0);  // elements 1 and 3 of x
  b.output(b.node("z", "neg.default", {{"self", y}})).output(x);
  const auto r = run(b.take());
  EXPECT_THAT(result(r, "output 0").reals(), ElementsAre(-2, -4));
}

// An exception is the operator's answer; the stage and the class are those of Python's.
TEST(EagerCpp, Raises) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  b.output(b.node("y", "cholesky_inverse.default", {{"self", x}}));
  const auto unknown = run(b.take());
  EXPECT_EQ(unknown.status, Status::kRaised);
  EXPECT_EQ(unknown.exception_type, "InvalidCase");  // not in the operator table

  CaseBuilder e;
  const Ref weight = e.input("w", DType::kFloat32, {2, 1}, {1, 2});
  const Ref index = e.input("i", DType::kInt64, {1}, {7});
  e.output(e.node("y", "embedding.default", {{"weight", weight}, {"indices", index}}));
  const auto r = run(e.take());
  EXPECT_EQ(r.status, Status::kRaised);
  EXPECT_EQ(r.stage, Stage::kForward);
  EXPECT_EQ(r.exception_type, "IndexError");
  EXPECT_FALSE(r.exception_message.empty());
}

TEST(EagerCpp, TheAskedAttentionKernelRunsAndIsSeen) {
  const auto attention = [](SdpaKernel kernel) {
    CaseBuilder b;
    const Ref q = b.input("q", DType::kFloat32, {1, 2, 4, 8}, {0.5});
    const Ref y = b.node("y", "scaled_dot_product_attention.default",
                         {{"query", q}, {"key", q}, {"value", q}});
    b.output(y, {1}).wrt({"q"});
    b.edit().environment.sdpa = SdpaChoice{{kernel}, false};
    RunRequest wish = request(b.take());
    wish.profile = true;
    std::vector<std::pair<std::string, std::string>> ran;
    for (const KernelRecord& k : run(wish).kernels) ran.emplace_back(k.name, k.phase);
    return ran;
  };
  const auto flash = attention(SdpaKernel::kFlash);
  EXPECT_THAT(flash, testing::Contains(
                         Pair("aten::_scaled_dot_product_flash_attention_for_cpu", "forward")));
  EXPECT_THAT(flash,
              testing::Contains(
                  Pair("aten::_scaled_dot_product_flash_attention_for_cpu_backward", "backward")));
  const auto math = attention(SdpaKernel::kMath);
  EXPECT_THAT(math, testing::Contains(Pair("aten::_scaled_dot_product_attention_math", "forward")));
  EXPECT_THAT(math, testing::Contains(Pair("aten::bmm", "backward")));
}

TEST(EagerCpp, TwoThreadsGiveAResultToo) {
  Case c = plus_one(1);
  c.program.inputs[0].shape = {Dim(300'000)};  // beyond the grain size of a parallel region
  c.environment.threads = 2;
  const auto r = run(c);
  const std::vector<double> values = result(r, "output 0").reals();
  ASSERT_EQ(values.size(), 300'000u);
  EXPECT_THAT(values, testing::Each(2.0));
}

}  // namespace
}  // namespace ulpfuzz
