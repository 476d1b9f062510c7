// What a planted fault does to a case, told without the judge.
#include "calibration/effect.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/scalar.h"
#include "tests/judge/runs.h"

namespace ulpfuzz {
namespace {

Exact exact_of(std::vector<double> values, DType dtype = DType::kFloat32) {
  ExactTensor tensor;
  tensor.name = "output 0";
  tensor.type = {dtype, {static_cast<std::int64_t>(values.size())}};
  tensor.bound.assign(values.size(), 1e-6);
  tensor.values = std::move(values);
  Exact exact;
  exact.tensors = {tensor};
  return exact;
}

Verdict eager_with(double rms_error) {
  TensorMeasure m;
  m.tensor = "output 0";
  m.has_error = true;
  m.rms_error = rms_error;
  Verdict verdict;
  verdict.measures = {m};
  return verdict;
}

const ulpfuzz::Run kRun = completed({floats("output 0", {3, 4})});

TEST(Effect, OfTheMeaningIsTheChangeOfExactValues) {
  const Exact clean = exact_of({3, 4}), planted = exact_of({3, 4.5});
  const Effect effect = effect_of(clean, &planted, kRun, kRun, eager_with(1e-7));
  EXPECT_TRUE(effect.any);
  EXPECT_DOUBLE_EQ(effect.relative, 0.1);  // 0.5 of |(3, 4)| = 5
  EXPECT_TRUE(effect.large());
}

// Proves: a change that a tensor's own rounding exceeds is not large, whatever its share.
TEST(Effect, IsHeldAgainstEagersError) {
  const Exact clean = exact_of({3, 4}), planted = exact_of({3, 4.5});
  const Effect effect = effect_of(clean, &planted, kRun, kRun, eager_with(0.2));
  EXPECT_TRUE(effect.any);
  EXPECT_EQ(effect.relative, 0);
}

// Proves: what a perfect system rounds away is no effect: 1e-9 of a float32, 0.001 of a bfloat16.
TEST(Effect, BelowTheDtypeIsNone) {
  const Exact planted = exact_of({3, 4 + 4e-9});
  EXPECT_FALSE(effect_of(exact_of({3, 4}), &planted, kRun, kRun, eager_with(0)).any);
  const Exact half = exact_of({3, 4.001}, DType::kBFloat16);
  const Exact clean = exact_of({3, 4}, DType::kBFloat16);
  EXPECT_FALSE(effect_of(clean, &half, kRun, kRun, eager_with(0)).any);
  const Exact more = exact_of({3, 4.05}, DType::kBFloat16);
  EXPECT_TRUE(effect_of(clean, &more, kRun, kRun, eager_with(0)).any);
}

// Proves: elements without a right value do not count.
TEST(Effect, LeavesMaskedElementsOut) {
  Exact clean = exact_of({3, 4});
  clean.tensors[0].marks = {0, kNearTie};
  const Exact planted = exact_of({3, 5});
  EXPECT_FALSE(effect_of(clean, &planted, kRun, kRun, eager_with(0)).any);
}

// Proves: a fault of precision leaves exact values alone; it is seen in the bits, and never large.
TEST(Effect, OfPrecisionIsSeenInRuns) {
  const Exact clean = exact_of({3, 4});
  const ulpfuzz::Run other = completed({floats("output 0", {3, 5})});
  const Effect effect = effect_of(clean, &clean, kRun, other, eager_with(0));
  EXPECT_TRUE(effect.any);
  EXPECT_FALSE(effect.large());
  EXPECT_FALSE(effect_of(clean, &clean, kRun, kRun, eager_with(0)).any);
}

TEST(Effect, OfAWorkerIsTheChangeOfRuns) {
  const Exact clean = exact_of({3, 4});
  const ulpfuzz::Run slightly = completed({floats("output 0", {3, 4.0001f})});
  const ulpfuzz::Run nan = completed({floats("output 0", {std::nanf(""), 4})});
  ulpfuzz::Run transposed = kRun;
  transposed.executions[0].tensors[0].layout.strides = {2};
  EXPECT_FALSE(effect_of(clean, nullptr, kRun, kRun, eager_with(0)).any);
  EXPECT_TRUE(effect_of(clean, nullptr, kRun, slightly, eager_with(0)).any);
  EXPECT_FALSE(effect_of(clean, nullptr, kRun, slightly, eager_with(0)).large());
  EXPECT_TRUE(std::isinf(effect_of(clean, nullptr, kRun, nan, eager_with(0)).relative));
  EXPECT_TRUE(effect_of(clean, nullptr, kRun, transposed, eager_with(0)).large());
  EXPECT_TRUE(
      effect_of(clean, nullptr, kRun, raised(Stage::kForward, "E", "m"), eager_with(0)).large());
}

// Proves: a gradient that is zero but for 1e-20 beside results of size 1 is not changed by losing
// that, and the sign of a NaN is nothing.
TEST(Effect, NoiseIsNotLarge) {
  Exact clean = exact_of({3, 4}), planted = exact_of({3, 4});
  clean.tensors.push_back(exact_of({0, 1e-20}).tensors[0]);
  clean.tensors[1].name = "gradient of x";
  planted.tensors.push_back(exact_of({1e-20, 0}).tensors[0]);
  planted.tensors[1].name = "gradient of x";
  const Effect effect = effect_of(clean, &planted, kRun, kRun, eager_with(0));
  EXPECT_TRUE(effect.any);
  EXPECT_FALSE(effect.large());
  const float nan = std::nanf("");
  const ulpfuzz::Run one = completed({floats("output 0", {nan, 4})});
  const ulpfuzz::Run other = completed({floats("output 0", {std::copysign(nan, -1.0f), 4})});
  EXPECT_FALSE(effect_of(exact_of({0, 4}), nullptr, one, other, eager_with(0)).any);
}

// Proves: autograd promises no strides of gradients.
TEST(Effect, StridesOfGradientsAreFree) {
  Exact clean = exact_of({3, 4});
  clean.tensors[0].name = "gradient of x";
  ulpfuzz::Run before = completed({floats("gradient of x", {3, 4})});
  before.executions[0].tensors[0].role = TensorResult::Role::kGradient;
  ulpfuzz::Run after = before;
  after.executions[0].tensors[0].layout.strides = {2};
  EXPECT_FALSE(effect_of(clean, nullptr, before, after, eager_with(0)).any);
}

}  // namespace
}  // namespace ulpfuzz
