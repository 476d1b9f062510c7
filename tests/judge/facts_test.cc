// Each aspect of a run by itself: what is a fact, of which kind, and what is none.
#include "judge/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "generators/build.h"
#include "oracle/scalar.h"
#include "tests/judge/runs.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Fact> events(const Run& run, const Run& eager) {
  std::vector<Fact> facts;
  event_facts(run, eager, "float32", facts);
  return facts;
}

VerdictKind kind_of(const Run& run, const Run& eager) { return primary(events(run, eager)); }

const Run kFine = completed({floats("output 0", {1})});

TEST(Events, ResultsOnBothSidesAreNoFact) { EXPECT_TRUE(events(kFine, kFine).empty()); }

TEST(Events, DeathsAreNamedWhateverTheStage) {
  ulpfuzz::Run run;
  run.status = Run::Status::kCrashed;
  run.signal = 8;
  run.stage = Stage::kForward;
  EXPECT_EQ(kind_of(run, kFine), VerdictKind::kCrash);
  EXPECT_THAT(events(run, kFine)[0].detail, HasSubstr("signal 8"));
  run.status = Run::Status::kHung;
  EXPECT_EQ(kind_of(run, kFine), VerdictKind::kHang);
  run.status = Run::Status::kOutOfMemory;
  EXPECT_EQ(kind_of(run, kFine), VerdictKind::kCrash);
}

TEST(Events, ARunThatWasNotCompiledIsNoEvidence) {
  ulpfuzz::Run run = kFine;
  run.status = Run::Status::kNotCompiled;
  EXPECT_EQ(kind_of(run, kFine), VerdictKind::kUndecided);
}

TEST(Events, ExceptionsOnOneSide) {
  const ulpfuzz::Run assertion =
      raised(Stage::kForward, "AssertionError",
             "expected size 3==3, stride 1==12 at dim=0; expected size 3==3, stride 18==6");
  EXPECT_EQ(kind_of(assertion, kFine), VerdictKind::kStrideAssert);
  EXPECT_EQ(kind_of(raised(Stage::kCompile, "InductorError", "LoweringException: no"), kFine),
            VerdictKind::kCompileError);
  EXPECT_EQ(kind_of(raised(Stage::kForward, "RuntimeError", "shapes do not match"), kFine),
            VerdictKind::kAcceptReject);
  EXPECT_EQ(kind_of(kFine, raised(Stage::kForward, "RuntimeError", "mixed dtypes")),
            VerdictKind::kAcceptReject);
  EXPECT_EQ(kind_of(raised(Stage::kForward, "RuntimeError", "no"),
                    raised(Stage::kForward, "RuntimeError", "no")),
            VerdictKind::kAgree);
}

TEST(Events, NothingIsSaidOfASystemWhereEagerDied) {
  ulpfuzz::Run dead;
  dead.status = Run::Status::kCrashed;
  EXPECT_EQ(kind_of(kFine, dead), VerdictKind::kUndecided);
  std::vector<Fact> facts;
  EXPECT_FALSE(eager_event_facts(dead, "float32", facts));
  EXPECT_EQ(primary(facts), VerdictKind::kCrash);
}

TEST(Events, TwoExecutionsOfOneInputMustBeEqual) {
  ulpfuzz::Run run = completed({floats("output 0", {1, 2})});
  run.executions.push_back(run.executions[0]);
  std::vector<Fact> facts;
  determinism_facts(run, "float32", facts);
  EXPECT_TRUE(facts.empty());
  run.executions[1].tensors[0] = floats("output 0", {1, 3});
  determinism_facts(run, "float32", facts);
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].kind, VerdictKind::kNondeterministic);
  run.executions[1].input_set = 1;  // other inputs: nothing to compare
  facts.clear();
  determinism_facts(run, "float32", facts);
  EXPECT_TRUE(facts.empty());
}

std::vector<Fact> metadata(const TensorResult& got, const TensorResult& want) {
  std::vector<Fact> facts;
  metadata_facts({0, {got}}, {0, {want}}, "float32", facts);
  return facts;
}

TEST(Metadata, EqualLayoutsAreNoFactAndEveryDifferenceIsOne) {
  const TensorResult want =
      tensor_of<float>("output 0", DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(metadata(want, want).empty());
  TensorResult got = want;
  got.layout.dtype = DType::kInt32;
  EXPECT_THAT(metadata(got, want).at(0).detail, HasSubstr("dtype int32"));
  got = want;
  got.layout.shape = {3, 2};
  EXPECT_THAT(metadata(got, want).at(0).detail, HasSubstr("shape [3, 2]"));
  got = want;
  got.layout.strides = {1, 2};
  EXPECT_THAT(metadata(got, want).at(0).detail, HasSubstr("strides (1, 2)"));
  got = want;
  got.alias_of = "x";
  EXPECT_THAT(metadata(got, want).at(0).detail, HasSubstr("shares storage"));
  got = want;
  got.present = false;
  EXPECT_THAT(metadata(got, want).at(0).detail, HasSubstr("None"));
}

TEST(Metadata, GradientsMayHaveAnyStrides) {
  TensorResult want = tensor_of<float>("gradient of x", DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  want.role = TensorResult::Role::kGradient;
  TensorResult got = want;
  got.layout.strides = {1, 2};
  EXPECT_TRUE(metadata(got, want).empty());
  got.layout.dtype = DType::kFloat64;
  EXPECT_FALSE(metadata(got, want).empty());
}

constexpr const char* kFlash = "aten::_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kFlashBackward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";

Case attention(std::vector<SdpaKernel> kernels, bool set_priority = false) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {1, 1, 2, 4}, Fill{});
  b.output(b.call("y", "scaled_dot_product_attention.default",
                  {{"query", x}, {"key", x}, {"value", x}}));
  Case c = std::move(b).take();
  if (!kernels.empty()) c.environment.sdpa = SdpaChoice{std::move(kernels), set_priority};
  return c;
}

Run with_kernel(const std::string& name, const std::string& phase = "forward") {
  ulpfuzz::Run run = kFine;
  run.kernels.push_back({name, phase, 1});
  return run;
}

using Kernels = std::vector<SdpaKernel>;

TEST(Kernels, TheFusedKernelIsAttestedAndProductsAreMath) {
  const auto ran = [](const char* name) { return attention_kernels(with_kernel(name)); };
  EXPECT_EQ(ran(kFlash), Kernels{SdpaKernel::kFlash});
  EXPECT_EQ(ran("aten::bmm"), Kernels{SdpaKernel::kMath});
  EXPECT_EQ(ran("aten::_scaled_dot_product_attention_math"), Kernels{SdpaKernel::kMath});
  EXPECT_EQ(attention_kernels(with_kernel(kFlashBackward, "backward")), Kernels{SdpaKernel::kMath});
  EXPECT_EQ(ran("aten::_scaled_dot_product_efficient_attention"), Kernels{SdpaKernel::kEfficient});
  EXPECT_EQ(ran("aten::_scaled_dot_product_cudnn_attention"), Kernels{SdpaKernel::kCudnn});
}

std::vector<Fact> eager_facts(const Run& eager, const Case& c, const Kernels& accepting) {
  std::vector<Fact> facts;
  kernel_facts(eager, eager, true, c, accepting, "float32", facts);
  return facts;
}

TEST(Kernels, EagerIsHeldAgainstTheList) {
  const ulpfuzz::Run flash = with_kernel(kFlash);
  const auto facts = [&](const Case& c, const Kernels& accepting = {}) {
    return eager_facts(flash, c, accepting);
  };
  EXPECT_TRUE(facts(attention({})).empty());
  EXPECT_TRUE(facts(attention({SdpaKernel::kMath, SdpaKernel::kFlash})).empty());
  const std::vector<Fact> outside = facts(attention({SdpaKernel::kMath}));
  ASSERT_EQ(outside.size(), 1u);
  EXPECT_EQ(outside[0].kind, VerdictKind::kKernelMismatch);
  EXPECT_THAT(outside[0].detail, HasSubstr("ran FLASH_ATTENTION, outside the list"));
}

// The order counts with set_priority alone, and only where a kernel before takes the program.
TEST(Kernels, BehindAnAcceptingKernelIsAMismatchUnderPriority) {
  const Case ordered = attention({SdpaKernel::kMath, SdpaKernel::kFlash}, true);
  const ulpfuzz::Run flash = with_kernel(kFlash);
  EXPECT_EQ(passed_over(flash, ordered), Kernels{SdpaKernel::kMath});
  EXPECT_TRUE(passed_over(with_kernel("aten::bmm"), ordered).empty());
  EXPECT_TRUE(
      passed_over(flash, attention({SdpaKernel::kMath, SdpaKernel::kFlash}, false)).empty());
  EXPECT_TRUE(eager_facts(flash, ordered, {}).empty());
  const std::vector<Fact> facts = eager_facts(flash, ordered, {SdpaKernel::kMath});
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_THAT(facts[0].detail, HasSubstr("MATH comes first and accepts"));
}

TEST(Kernels, AnotherKernelThanEagersIsAFactOnlyUnderAChoice) {
  const ulpfuzz::Run flash = with_kernel(kFlash);
  const ulpfuzz::Run math = with_kernel("aten::bmm");
  std::vector<Fact> facts;
  const auto compare = [&](const ulpfuzz::Run& run, const Case& c) {
    kernel_facts(run, flash, false, c, {}, "float32", facts);
  };
  compare(math, attention({}));
  compare(flash, attention({SdpaKernel::kFlash}));
  // What eager does too is eager's verdict.
  compare(flash, attention({SdpaKernel::kMath}));
  EXPECT_TRUE(facts.empty());
  compare(math, attention({SdpaKernel::kFlash}));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].kind, VerdictKind::kKernelMismatch);
  EXPECT_THAT(facts[0].detail, HasSubstr("FLASH_ATTENTION"));
  EXPECT_THAT(facts[0].detail, HasSubstr("it ran MATH, outside the list"));
}

// A call of attention with this layout of its output, whose backward call gets it back.
Run with_layouts(const Shape& strides) {
  const KernelTensor out{"output", {DType::kFloat32, {1, 2, 3, 4}, strides, 0}};
  ulpfuzz::Run run = kFine;
  run.kernels = {{kFlash, "forward", 1, {out}, {}},
                 {kFlash, "forward", 1, {{"output", {DType::kFloat32, {1, 2, 3, 8}, {}, 0}}}, {}},
                 {kFlashBackward, "backward", 1, {}, {{"out", out.layout}}},
                 {"aten::bmm", "forward", 1, {out}, {}}};
  return run;
}

TEST(Kernels, LayoutsOfResultsAndOfWhatWasSavedStandBesideEagers) {
  const auto rows = kernel_rows(with_layouts({24, 4, 8, 1}), with_layouts({24, 12, 4, 1}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].tensor, "output");
  EXPECT_TRUE(rows[0].differs());
  EXPECT_THAT(rows[0].eager, HasSubstr("strides [24, 12, 4, 1]"));
  EXPECT_THAT(rows[0].system, HasSubstr("strides [24, 4, 8, 1]"));
  EXPECT_FALSE(rows[1].differs());  // the second call of the same kernel
  EXPECT_EQ(rows[2].phase, "backward");
  EXPECT_EQ(rows[2].tensor, "saved out");
  EXPECT_TRUE(rows[2].differs());
  const auto alone = kernel_rows(kFine, with_layouts({24, 12, 4, 1}));
  ASSERT_EQ(alone.size(), 3u);
  EXPECT_EQ(alone[0].system, "");
  // Of a package only the kernels' names are known: no layout is held against eager's.
  EXPECT_TRUE(kernel_rows(with_kernel(kFlash), with_kernel(kFlash)).empty());
  const auto named = kernel_rows(with_kernel(kFlash), with_layouts({24, 12, 4, 1}));
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].phase, "backward");
}

ExactTensor exact_floats(std::vector<double> values, double bound) {
  ExactTensor exact;
  exact.name = "output 0";
  exact.type = {DType::kFloat32, {static_cast<std::int64_t>(values.size())}};
  exact.bound.assign(values.size(), bound);
  exact.marks.assign(values.size(), 0);
  exact.values = std::move(values);
  return exact;
}

// The verdict on one element, eager's beside it.
VerdictKind element(float got, double exact, double bound, std::optional<float> eager = {}) {
  std::vector<Fact> facts;
  const TensorResult result = floats("output 0", {got});
  const TensorResult beside = floats("output 0", {eager.value_or(0)});
  check_elements(result, eager ? &beside : nullptr, exact_floats({exact}, bound), "float32", facts);
  return primary(facts);
}

TEST(Elements, WithinTwiceTheBoundIsRight) {
  EXPECT_EQ(element(1.0f, 1.0, 0.1), VerdictKind::kAgree);
  EXPECT_EQ(element(1.2f, 1.0, 0.11), VerdictKind::kAgree);
  EXPECT_EQ(element(1.3f, 1.0, 0.1), VerdictKind::kWrong);
  EXPECT_EQ(element(0.0f, 1e-8, 1e-15), VerdictKind::kWrong);
}

TEST(Elements, NonFiniteWhereTheExactValueIsFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(element(kNan, 1.0, 0.1), VerdictKind::kNanMismatch);
  EXPECT_EQ(element(inf, 1.0, 0.1), VerdictKind::kNanMismatch);
  EXPECT_EQ(element(1.0f, NAN, 0.1), VerdictKind::kNanMismatch);
  EXPECT_EQ(element(1.0f, kInf, 0.1), VerdictKind::kNanMismatch);
  EXPECT_EQ(element(kNan, NAN, 0.1), VerdictKind::kAgree);
  EXPECT_EQ(element(inf, kInf, 0.1), VerdictKind::kAgree);
  EXPECT_EQ(element(-inf, kInf, 0.1), VerdictKind::kNanMismatch);
  // A legal error may lead beyond the largest float.
  EXPECT_EQ(element(inf, 3.4e38, 1e36), VerdictKind::kAgree);
  EXPECT_EQ(element(-inf, 3.4e38, 1e36), VerdictKind::kNanMismatch);
}

TEST(Elements, WhereAnythingGoesNothingIsSaid) {
  EXPECT_EQ(element(5.0f, 1.0, kInf), VerdictKind::kAgree);
  EXPECT_EQ(element(kNan, 1.0, kInf), VerdictKind::kAgree);
}

// First-order analysis gives no bound, yet the error counts among those of legal executions.
TEST(Elements, UnboundedOnesAreMeasured) {
  const ExactTensor exact = exact_floats({1, 1}, kInf);
  std::vector<Fact> facts;
  const TensorResult got = floats("output 0", {1, 3});
  const ElementCheck check = check_elements(got, nullptr, exact, "float32", facts);
  EXPECT_TRUE(facts.empty());
  EXPECT_TRUE(check.comparable);
  EXPECT_EQ(check.measure.masked, 0);
  EXPECT_EQ(check.measure.max_error, 2);
  EXPECT_NEAR(check.measure.rms_error, std::sqrt(2.0), 1e-12);
}

TEST(Elements, ASystemIsNotBlamedWhereEagerIsOutsideToo) {
  EXPECT_EQ(element(5.0f, 1.0, 0.1, 6.0f), VerdictKind::kUndecided);
  EXPECT_EQ(element(5.0f, 1.0, 0.1, 5.0f), VerdictKind::kAgree);  // the same bits
  EXPECT_EQ(element(5.0f, 1.0, 0.1, 1.0f), VerdictKind::kWrong);
}

TEST(Elements, MarkedOnesAreLeftOutAndSaidSo) {
  ExactTensor exact = exact_floats({1, 2}, 0.1);
  exact.marks[1] = kNearTie;
  std::vector<Fact> facts;
  const TensorResult got = floats("output 0", {1, 9});
  const TensorResult eager = floats("output 0", {1, 2});
  const ElementCheck check = check_elements(got, &eager, exact, "float32", facts);
  EXPECT_TRUE(facts.empty());
  EXPECT_TRUE(check.comparable);
  EXPECT_TRUE(check.masked_difference);
  EXPECT_EQ(check.masked_marks, kNearTie);
  EXPECT_EQ(check.measure.masked, 1);
  EXPECT_EQ(check.measure.rms_error, 0);
}

// Proves: what the bound says nothing of must still be a number where it is one in every legal
// execution, and only there.
TEST(Elements, NoNumberWithoutABound) {
  ExactTensor exact = exact_floats({1, 2}, 0.1);
  exact.bound = {INFINITY, INFINITY};
  const auto kind = [&](float value, bool must_be_finite) {
    std::vector<Fact> facts;
    const TensorResult eager = floats("output 0", {1, 2});
    check_elements(floats("output 0", {1, value}), &eager, exact, "bfloat16", facts,
                   [&](std::size_t i) { return i == 1 && must_be_finite; });
    return primary(facts);
  };
  EXPECT_EQ(kind(NAN, false), VerdictKind::kAgree);
  EXPECT_EQ(kind(NAN, true), VerdictKind::kNanMismatch);
  EXPECT_EQ(kind(INFINITY, true), VerdictKind::kNanMismatch);
  EXPECT_EQ(kind(9, true), VerdictKind::kAgree);  // no bound
}

TEST(Elements, AnIndexIsRightWhereItsValueIsAsGood) {
  ExactTensor exact;
  exact.name = "output 0";
  exact.type = {DType::kInt64, {2}};
  exact.integers = {3, 0};
  exact.bound = {0, 0};
  exact.marks = {0, 0};
  exact.acceptable = {{3, 5}, {0}};
  const auto kind = [&](std::int64_t a, std::int64_t b) {
    std::vector<Fact> facts;
    check_elements(indices("output 0", {a, b}), nullptr, exact, "float32", facts);
    return primary(facts);
  };
  EXPECT_EQ(kind(3, 0), VerdictKind::kAgree);
  EXPECT_EQ(kind(5, 0), VerdictKind::kAgree);
  EXPECT_EQ(kind(4, 0), VerdictKind::kWrong);
  EXPECT_EQ(kind(3, 1), VerdictKind::kWrong);
}

TEST(Elements, PartsOfAComplexElementShareABound) {
  ExactTensor exact;
  exact.name = "output 0";
  exact.type = {DType::kComplex64, {2}};
  exact.values = {1, 2, 3, 4};
  exact.bound = {0.1, 0.5};
  exact.marks = {0, 0};
  const auto kind = [&](std::vector<float> parts) {
    std::vector<Fact> facts;
    check_elements(tensor_of<float>("output 0", DType::kComplex64, {2}, parts), nullptr, exact,
                   "float32", facts);
    return primary(facts);
  };
  EXPECT_EQ(kind({1, 2, 3, 4}), VerdictKind::kAgree);
  EXPECT_EQ(kind({1, 2, 3, 4.9f}), VerdictKind::kAgree);
  EXPECT_EQ(kind({1, 2.9f, 3, 4}), VerdictKind::kWrong);
}

}  // namespace
}  // namespace ulpfuzz
