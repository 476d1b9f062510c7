// Generated kernels in process: what bytes mean, what is near enough, and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "fuzz/value_cases.h"
#include "generators/generate.h"
#include "ir/element.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "kernels/check.h"
#include "kernels/elements.h"
#include "kernels/feedback.h"
#include "kernels/folder.h"
#include "kernels/mutate.h"
#include "kernels/variants.h"
#include "ops/table.h"
#include "oracle/oracle.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kSeed = 5;
constexpr std::uint64_t kCases = 150;

// y = exp(x) of 40 float32.
Case exponential() {
  Case c;
  c.program.inputs = {{"x", DType::kFloat32, {Dim(40)}}};
  c.program.nodes = {{"y", "aten.exp.default", {{"self", Ref{"x", 0}}}}};
  c.program.outputs = {{"y", 0}};
  c.inputs.resize(1);
  c.cotangents.resize(1);
  return c;
}

std::vector<std::byte> expanded(const InputElements& elements, std::vector<std::uint8_t> data) {
  std::vector<std::byte> whole(elements.bytes());
  elements.expand(data, whole);
  return whole;
}

std::vector<std::byte> floats(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(InputElements, ReadBytesAsTorchStoresThem) {
  const InputElements elements(exponential());
  ASSERT_EQ(elements.bytes(), 160u);
  const float first[] = {1.5F, -0.25F};
  std::vector<std::uint8_t> data(sizeof first);
  std::memcpy(data.data(), first, sizeof first);
  const std::vector<std::byte> whole = expanded(elements, data);
  EXPECT_EQ(load_real(DType::kFloat32, whole.data()), 1.5);
  EXPECT_EQ(load_real(DType::kFloat32, whole.data() + 4), -0.25);
  // The rest are others, around those two, and the same each time.
  EXPECT_EQ(whole, expanded(elements, data));
  const Case c = with_literals(exponential(), elements, whole);
  ASSERT_EQ(c.inputs[0].fill.values.size(), 40u);
  EXPECT_EQ(c.inputs[0].fill.values[1], -0.25);
  int near = 0;
  for (const double x : c.inputs[0].fill.values) near += std::fabs(x) > 0.2 && std::fabs(x) < 2;
  EXPECT_GT(near, 10);
  EXPECT_LT(near, 40);
}

// Of all kinds of programs: integers stay in their ranges through expansion and mutation, and the
// case with literals verifies and has those elements.
TEST(InputElements, StayInRangeAndBecomeLiterals) {
  int integral = 0;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const Case c = kernel_case(kSeed, i, op_table(), "");
    const InputElements elements(c);
    const ElementMutator mutator(bind_symbols(c.program), op_table(), elements);
    Random random(i);
    std::vector<std::uint8_t> data(static_cast<std::size_t>(random.integer(0, 40)));
    for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random.bits());
    std::vector<std::byte> whole = expanded(elements, data);
    for (int step = 0; step < 50; ++step) {
      mutator.mutate(whole, random.bits());
      for (const InputElements::Input& input : elements.inputs()) {
        if (!is_integral(input.dtype)) continue;
        ++integral;
        for (std::int64_t e = 0; e < input.count; ++e) {
          const std::int64_t value = load_integer(
              input.dtype, whole.data() + input.begin + static_cast<std::size_t>(e) * input.width);
          ASSERT_GE(value, input.low) << "case " << i;
          ASSERT_LE(value, input.high) << "case " << i;
          ASSERT_TRUE(value != 0 || input.zero || input.dtype == DType::kBool) << "case " << i;
        }
      }
    }
    const Case literal = with_literals(c, elements, whole);
    verify(literal, op_table());
    EXPECT_EQ(case_from_json(to_json(literal), "literal"), literal);
  }
  EXPECT_GT(integral, 500);
}

TEST(InputElements, SharedStorageIsRefused) {
  Case c = exponential();
  c.inputs[0].alias = 0;
  EXPECT_THROW(InputElements{c}, Error);
}

// What a correct float32 kernel gives is near; an ulp too many by the bound is not, and one that is
// off by 1 % is seen in whichever element it is.
TEST(KernelCheck, AcceptsCorrectResultsAndSeesEachWrongElement) {
  const InputElements elements(exponential());
  KernelCheck check(exponential(), op_table(), elements);
  std::vector<float> x, y;
  for (int i = 0; i < 40; ++i) x.push_back(0.37F * static_cast<float>(i - 20));
  for (const float v : x) y.push_back(std::exp(v));
  const std::vector<std::byte> whole = floats(x);
  check.evaluate(whole);
  std::vector<KernelCheck::Distance> distances;
  double share = 0;
  EXPECT_FALSE(check.compare(0, floats(y), distances));
  EXPECT_THAT(check.facts(whole, {floats(y)}, share), testing::IsEmpty());
  EXPECT_LT(share, 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::vector<float> wrong = y;
    wrong[i] *= 1.01F;
    distances.clear();
    EXPECT_TRUE(check.compare(0, floats(wrong), distances)) << i;
    const std::vector<Fact> facts = check.facts(whole, {floats(wrong)}, share);
    ASSERT_EQ(facts.size(), 1u) << i;
    EXPECT_EQ(facts[0].kind, VerdictKind::kWrong);
    wrong[i] = std::nanf("");
    EXPECT_TRUE(check.compare(0, floats(wrong), distances)) << i;
    ASSERT_EQ(check.facts(whole, {floats(wrong)}, share).size(), 1u) << i;
  }
}

// For whatever is generated: results that real arithmetic in double gives, rounded once, are within
// the bound. So compare() may cry, facts() may not.
TEST(KernelCheck, RoundedExactResultsAreNoFinding) {
  int cried = 0, looked = 0;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const Case c = kernel_case(kSeed + 1, i, op_table(), "");
    const InputElements elements(c);
    KernelCheck check(c, op_table(), elements);
    const ElementMutator mutator(bind_symbols(c.program), op_table(), elements);
    std::vector<std::byte> whole = expanded(elements, {1, 2, 3, 4, 5});
    for (std::uint64_t step = 0; step < 20; ++step) {
      mutator.mutate(whole, i * 100 + step);
      const Exact exact = Oracle(op_table()).exact(with_literals(c, elements, whole));
      check.evaluate(whole);
      std::vector<std::vector<std::byte>> results;
      std::vector<std::span<const std::byte>> views;
      for (const ExactTensor& tensor : exact.tensors) {
        const DType dtype = real_part(tensor.type.dtype);
        const auto width = static_cast<std::size_t>(item_size(dtype));
        std::vector<std::byte> bytes;
        for (std::size_t e = 0; e < tensor.values.size() + tensor.integers.size(); ++e) {
          bytes.resize(bytes.size() + width);
          std::byte* const at = bytes.data() + bytes.size() - width;
          is_integral(dtype) ? store_integer(dtype, tensor.integers[e], at)
                             : store_real(dtype, tensor.values[e], at);
        }
        results.push_back(std::move(bytes));
      }
      std::vector<KernelCheck::Distance> distances;
      for (std::size_t r = 0; r < results.size(); ++r) {
        views.emplace_back(results[r]);
        cried += check.compare(r, results[r], distances) ? 1 : 0;
        ++looked;
      }
      double share = 0;
      for (const Fact& fact : check.facts(whole, views, share)) {
        ADD_FAILURE() << "case " << i << ": " << fact.detail << "\n" << to_pretty_json(c);
      }
    }
  }
  // The prepared evaluation gives what the oracle gives, but for what cancels or is beyond double.
  EXPECT_LT(cried, looked / 10);
}

TEST(Feedback, TellsOperandsAndDistancesApart) {
  const InputElements elements(exponential());
  Feedback feedback(elements);
  const auto counted = [&](float x, int octave) {
    std::vector<std::uint8_t> counters(Feedback::kSize);
    feedback.operands(floats(std::vector<float>(40, x)), counters);
    feedback.distances({{0, 3, octave}}, 0, counters);
    return counters;
  };
  EXPECT_EQ(counted(1.5F, 4), counted(1.25F, 4));
  EXPECT_NE(counted(1.5F, 4), counted(1.5F, 5));
  EXPECT_NE(counted(1.5F, 4), counted(-1.5F, 4));
  EXPECT_NE(counted(1.5F, 4), counted(1e-30F, 4));
  EXPECT_NE(counted(INFINITY, 4), counted(NAN, 4));
}

// What the host answers, as text.
std::string answer(const std::string& buffer, const std::string& pointer, const std::string& out) {
  return R"js({"captured":{"status":"completed","kernels":[{"source":
"#include <cmath>\nextern \"C\" void  kernel(const float* in, float* out, const int64_t n)\n{ }",
"arguments":["const float*","float*","const int64_t"]}],
"bindings":[{"buffers":[{"bytes":160,"input":"x","constant":""},)js" +
         buffer + R"js(],"calls":[{"kernel":0,"arguments":[{"buffer":0,"offset":0},)js" + pointer +
         R"js(,7]}],"outputs":[)js" + out +
         R"js(],"values":[""]}],"compiler":{"definitions":["CPU_CAPABILITY_AVX512"],
"include":["/torch/include"],"flags":["O3","fno-math-errno","fexcess-precision=fast","fopenmp"],
"vector":["-mavx512f"],"libraries":["/torch/lib"]},"versions":{"torch":"2.11.0"}}})js";
}
const std::string kBuffer = R"js({"bytes":160,"input":"","constant":""})js";
const std::string kPointer = R"js({"buffer":1,"offset":0})js";
const std::string kOut =
    R"js({"buffer":1,"dtype":"float32","shape":[40],"strides":[1],"offset":0})js";

TEST(KernelExport, IsCalledAsGeneratedCodeCallsIt) {
  const KernelExport exported = kernel_export(answer(kBuffer, kPointer, kOut), "text");
  const std::string source = kernel_source(exported);
  EXPECT_THAT(source, HasSubstr("#include <cmath>\n"));
  EXPECT_THAT(source, HasSubstr("static void kernel_0(const float* in"));
  EXPECT_THAT(source, HasSubstr("ulpfuzz_0::kernel_0(reinterpret_cast<const float*>(buffers[0] + "
                                "0), reinterpret_cast<float*>(buffers[1] + 0), "
                                "static_cast<const int64_t>(7LL));"));
  const KernelFolder folder{"/tmp/kernel", {exponential()}, exported};
  const std::vector<std::string> command = kernel_compile_command(folder, "clang++", true);
  EXPECT_THAT(command, testing::Contains("-fno-math-errno"));
  EXPECT_THAT(command, testing::Contains("-DCPU_CAPABILITY_AVX512"));
  EXPECT_THAT(command, Not(testing::Contains("-fexcess-precision=fast")));
}

TEST(KernelExport, WhatLiesOutsideIsRefused) {
  const auto refused = [](const std::string& text) {
    EXPECT_THROW(kernel_export(text, "text"), Error) << text;
  };
  refused(answer(R"js({"bytes":-1,"input":"","constant":""})js", kPointer, kOut));
  refused(answer(R"js({"bytes":160,"input":"","constant":"00"})js", kPointer, kOut));
  refused(answer(kBuffer, R"js({"buffer":2,"offset":0})js", kOut));
  refused(answer(kBuffer, R"js({"buffer":1,"offset":161})js", kOut));
  for (const std::string out :
       {R"js({"buffer":1,"dtype":"float32","shape":[41],"strides":[1],"offset":0})js",
        R"js({"buffer":1,"dtype":"float32","shape":[40],"strides":[1],"offset":1})js",
        R"js({"buffer":1,"dtype":"float64","shape":[40],"strides":[1],"offset":0})js",
        R"js({"buffer":1,"dtype":"float32","shape":[2],"strides":[9000000000],"offset":0})js",
        R"js({"buffer":1,"dtype":"float32","shape":[40],"strides":[],"offset":0})js"}) {
    refused(answer(kBuffer, kPointer, out));
  }
  refused(R"js({"captured":{"status":"raised","exception":{"type":"E","message":"m"}}})js");
}

// Whatever the layout, the elements are the same ones: one exact result judges all.
TEST(Layouts, HaveTheSameElementsAndSurviveTheirFolder) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ulpfuzz-layouts-" + std::to_string(::getpid()));
  std::size_t most = 0, grown = 0;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const Case c = operator_case(kSeed, i, op_table(), "");
    const std::vector<Case> all = layouts(c, op_table());
    EXPECT_EQ(all.front(), c);
    most = std::max(most, all.size());
    const InputElements elements(c);
    grown += elements.bytes() > 0 && elements.inputs().front().count >= 128 ? 1 : 0;
    const std::vector<std::byte> whole = expanded(elements, {9, 8, 7, 6, 5, 4, 3, 2, 1});
    const Exact exact = Oracle(op_table()).exact(with_literals(c, elements, whole));
    for (const Case& other : all) {
      const InputElements same(other);
      ASSERT_EQ(same.bytes(), elements.bytes());
      const Exact there = Oracle(op_table()).exact(with_literals(other, same, whole));
      ASSERT_EQ(there.tensors.size(), exact.tensors.size());
    }
    std::filesystem::remove_all(folder);
    write_variants(folder, all);
    EXPECT_EQ(read_variants(folder), all);
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(most, 4u);
  EXPECT_GT(grown, kCases / 3);  // the others name their sizes, or have many inputs
}

// The byte before the elements picks the layout.
TEST(Layouts, OfAnArtifactIsItsFirstByte) {
  const std::vector<std::uint8_t> bytes{6, 1, 2};
  std::span<const std::uint8_t> rest(bytes);
  EXPECT_EQ(picked_variant(rest, 4), 2u);
  EXPECT_EQ(rest.size(), 2u);
  rest = {};
  EXPECT_EQ(picked_variant(rest, 4), 0u);
}

}  // namespace
}  // namespace ulpfuzz
