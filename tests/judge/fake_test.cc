#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/facts.h"
#include "tests/judge/runs.h"

// The relation fake = real: what counts as a difference of layouts, and what does not.
namespace ulpfuzz {
namespace {

using testing::HasSubstr;

TensorResult matrix(Shape strides, TensorResult::Role role = TensorResult::Role::kOutput) {
  TensorResult t = tensor_of<float>("output 0", DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6});
  t.role = role;
  t.layout.strides = std::move(strides);
  return t;
}

std::vector<Fact> compare(const TensorResult& fake, const TensorResult& real) {
  std::vector<Fact> facts;
  fake_facts(completed({fake}), completed({real}), "float32", facts);
  return facts;
}

void expect_sort(const TensorResult& fake, const TensorResult& real, const std::string& sort) {
  const std::vector<Fact> facts = compare(fake, real);
  ASSERT_EQ(facts.size(), 1u) << sort;
  EXPECT_EQ(facts[0].kind, VerdictKind::kMetadata);
  Verdict verdict;
  verdict.primary = VerdictKind::kMetadata;
  verdict.facts = facts;
  EXPECT_EQ(signature(verdict).detail, sort);
}

TEST(FakeReal, EqualLayoutsAreNoFact) {
  EXPECT_TRUE(compare(matrix({3, 1}), matrix({3, 1})).empty());
}

TEST(FakeReal, EachPartOfALayoutCountsOfGradientsToo) {
  const TensorResult real = matrix({3, 1});
  expect_sort(matrix({1, 2}), real, "fake kernel's strides");
  expect_sort(matrix({1, 2}, TensorResult::Role::kGradient), real, "fake kernel's strides");
  TensorResult other = real;
  other.layout.offset = 1;
  expect_sort(other, real, "fake kernel's offset");
  other = real;
  other.layout.dtype = DType::kFloat64;
  expect_sort(other, real, "fake kernel's dtype");
  other = real;
  other.layout.shape = {3, 2};
  expect_sort(other, real, "fake kernel's shape");
  other = real;
  other.alias_of = "x";
  expect_sort(other, real, "fake kernel's storage");
  other = real;
  other.present = false;
  expect_sort(other, real, "fake kernel's presence");
}

// Nobody steps over a dimension of one element, nor through an empty tensor.
TEST(FakeReal, StridesThatAreNeverUsedAreNoFact) {
  TensorResult real = matrix({3, 1});
  real.layout.shape = {1, 6};
  TensorResult fake = real;
  fake.layout.strides = {17, 1};
  EXPECT_TRUE(compare(fake, real).empty());
  real.layout.shape = fake.layout.shape = {0, 6};
  fake.layout.strides = {17, 5};
  EXPECT_TRUE(compare(fake, real).empty());
}

TEST(FakeReal, RaisingIsAFactUnlessTheLayoutDependsOnValues) {
  std::vector<Fact> facts;
  const auto real = completed({matrix({3, 1})});
  fake_facts(raised(Stage::kForward, "RuntimeError", "no"), real, "", facts);
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].kind, VerdictKind::kAcceptReject);
  EXPECT_THAT(facts[0].detail, HasSubstr("fake kernel raises RuntimeError"));
  facts.clear();
  fake_facts(raised(Stage::kForward, "DynamicOutputShapeException", "nonzero"), real, "", facts);
  EXPECT_EQ(primary(facts), VerdictKind::kUndecided);
  // Where eager raises for its values, there is nothing to compare.
  facts.clear();
  fake_facts(real, raised(Stage::kForward, "IndexError", "out of range"), "", facts);
  EXPECT_EQ(primary(facts), VerdictKind::kAgree);
}

}  // namespace
}  // namespace ulpfuzz
