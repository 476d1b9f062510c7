#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "generators/family.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "oracle/oracle.h"
#include "systems/fault.h"
#include "systems/scheduler.h"
#include "tests/systems/cases.h"

// Each fault does what it says: exact values of the planted program differ from the clean one's
// where the function is another, and do not where rounding alone is.
namespace ulpfuzz {
namespace {

enum class Changes { kOutputs, kGradientsAlone, kRounding, kTypes };

struct Planting {
  const char* fault;
  Changes changes;
  Case (*make)();
};

void PrintTo(const Planting& planting, std::ostream* out) { *out << planting.fault; }

std::vector<double> ramp(int n, double step = 0.125) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(step * (i * 7 % 11) - 0.5);
  return values;
}

Case qwen2(const std::string& dtype) {
  Case c;
  Random random(1);
  c.model = family("qwen2").draw(random);
  auto& fields = c.model->fields;
  fields["num_attention_heads"] = std::int64_t{4};
  fields["num_key_value_heads"] = std::int64_t{2};
  fields["hidden_size"] = std::int64_t{32};
  fields["length"] = std::int64_t{4};
  fields["head_dim"] = std::int64_t{8};
  fields["rope"] = true;
  fields["dtype"] = dtype;
  return bind_symbols(lower(c));
}
Case qwen2_float() { return qwen2("float32"); }
Case qwen2_bfloat() { return qwen2("bfloat16"); }

// op(x) of one tensor, with a gradient for floating results.
Case one(const std::string& op, DType dtype, const Shape& shape, std::vector<double> values,
         std::vector<NamedArgument> more = {}, int output = 0) {
  CaseBuilder b;
  const Ref x = b.input("x", dtype, shape, std::move(values));
  std::vector<NamedArgument> args = {{"self", x}};
  args.insert(args.end(), more.begin(), more.end());
  Ref y = b.node("y", op, std::move(args));
  y.output = output;
  return b.output(y).take();
}

Case attention(std::int64_t kv_heads, bool causal) {
  CaseBuilder b;
  const Ref q = b.input("q", DType::kFloat32, {1, 4, 3, 2}, ramp(24));
  const Shape shape{1, kv_heads, 3, 2};
  const Ref k = b.input("k", DType::kFloat32, shape, ramp(static_cast<int>(6 * kv_heads), 0.25));
  const Ref v = b.input("v", DType::kFloat32, shape, ramp(static_cast<int>(6 * kv_heads), 0.5));
  return b
      .output(b.node("y", "scaled_dot_product_attention.default",
                     {{"query", q},
                      {"key", k},
                      {"value", v},
                      {"is_causal", causal},
                      {"enable_gqa", kv_heads != 4}}))
      .take();
}

// exp(x * w) + w, with gradients by w and x.
Case differentiated() {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {3}, {1, -2, 0.5});
  const Ref w = b.input("w", DType::kFloat32, {3}, {0.5, 0.25, -1});
  const Ref product = b.node("p", "mul.Tensor", {{"self", x}, {"other", w}});
  const Ref e = b.node("e", "exp.default", {{"self", product}});
  const Ref y = b.node("y", "add.Tensor", {{"self", e}, {"other", w}});
  return b.output(y, {1, 2, -1}).wrt({"w", "x"}).take();
}

// neg(sin(exp(x))): the sine takes the buffer of the exponential.
Case reused() {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {3}, {1, -2, 0.5});
  const Ref e = b.node("e", "exp.default", {{"self", x}});
  const Ref s = b.node("s", "sin.default", {{"self", e}});
  return b.output(b.node("y", "neg.default", {{"self", s}})).take();
}

Case times(std::initializer_list<double> values) {
  return one("mul.Tensor", DType::kFloat32, {3}, values, {{"other", Scalar{0.5}}});
}

// exp(x.to(float32)) of a half type, and to(half) of a float32.
Case upcast() {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kBFloat16, {4}, {0.5, 1.5, -0.75, 2});
  const Ref wide = b.node("w", "to.dtype", {{"self", x}, {"dtype", DType::kFloat32}});
  return b.output(b.node("y", "exp.default", {{"self", wide}})).take();
}
Case softmax_in_float() {
  return one("softmax.int", DType::kFloat16, {4}, {0.5, 1.5, -0.75, 2},
             {{"dim", Dim(0)}, {"dtype", DType::kFloat32}});
}
Case downcast(DType half) {
  return one("to.dtype", DType::kFloat32, {5}, {1 + 0x1.8p-8, 1.9999, -0.3337, 1e-3, 3e38},
             {{"dtype", half}});
}

const Planting kPlantings[] = {
    {"attn-scale=1.1", Changes::kOutputs, [] { return attention(4, false); }},
    {"kv-interleave", Changes::kOutputs, [] { return attention(2, false); }},
    {"kv-swapped", Changes::kOutputs, [] { return attention(2, true); }},
    {"causal-off-by-one", Changes::kOutputs, [] { return attention(4, true); }},
    {"rope-k-skipped", Changes::kOutputs, qwen2_float},
    {"rope-half-swapped", Changes::kOutputs, qwen2_float},
    {"rms-eps=0.1", Changes::kOutputs, qwen2_float},
    {"rms-no-eps", Changes::kOutputs, qwen2_float},
    {"rms-no-upcast", Changes::kRounding, qwen2_bfloat},
    {"gelu-for-silu", Changes::kOutputs, qwen2_float},
    {"scale=1.01", Changes::kOutputs,
     [] {
       return times({1, 2, 3});
     }},
    {"scale=1.01", Changes::kOutputs, qwen2_float},
    {"relu-plus-one", Changes::kOutputs,
     [] {
       return one("relu.default", DType::kFloat32, {2}, {1, -1});
     }},
    {"gelu-tanh", Changes::kOutputs,
     [] {
       return one("gelu.default", DType::kFloat32, {2}, {1, -1});
     }},
    {"saturate", Changes::kOutputs,
     [] {
       return one("add.Tensor", DType::kInt8, {2}, {100, 1}, {{"other", Scalar{100L}}});
     }},
    {"round-half-away", Changes::kOutputs,
     [] {
       return one("round.default", DType::kFloat16, {3}, {0.5, -2.5, 1.5});
     }},
    {"wrong-axis", Changes::kOutputs,
     [] {
       return one("softmax.int", DType::kFloat32, {2, 3}, ramp(6), {{"dim", Dim(1)}});
     }},
    {"wrong-axis", Changes::kOutputs,
     [] {
       return one("sum.dim_IntList", DType::kFloat32, {3, 3}, ramp(9),
                  {{"dim", std::vector<Dim>{-1}}});
     }},
    {"ties-last", Changes::kOutputs,
     [] {
       return one("argmax.default", DType::kFloat32, {2, 2}, {1, 3, 3, 2});
     }},
    {"ties-last", Changes::kOutputs,
     [] {
       return one("min.dim", DType::kInt32, {2, 3}, {1, 1, 2, 3, 4, 3}, {{"dim", Dim(1)}}, 1);
     }},
    {"no-correction", Changes::kOutputs,
     [] { return one("var.correction", DType::kFloat32, {4}, ramp(4)); }},
    {"stale-buffer", Changes::kOutputs, reused},
    {"wrong-dtype", Changes::kTypes,
     [] {
       return times({1, 2, 3});
     }},
    {"grad-zero", Changes::kGradientsAlone, differentiated},
    {"grad-sign", Changes::kGradientsAlone, differentiated},
    {"grad-term-missing", Changes::kGradientsAlone, differentiated},
    {"no-upcast", Changes::kRounding, upcast},
    {"no-upcast", Changes::kRounding, softmax_in_float},
    {"truncate", Changes::kRounding, [] { return downcast(DType::kBFloat16); }},
    {"truncate", Changes::kRounding, [] { return downcast(DType::kFloat16); }},
    {"truncate", Changes::kRounding,
     [] {
       return one("sigmoid.default", DType::kBFloat16, {4}, {1, 2, -3, 0.1});
     }},
    {"half-accumulate", Changes::kRounding,
     [] {
       return one("sum.default", DType::kBFloat16, {2, 20}, ramp(40));
     }},
    {"half-accumulate", Changes::kRounding,
     [] {
       return one("mean.dim", DType::kFloat16, {20, 2}, ramp(40),
                  {{"dim", std::vector<Dim>{0}}, {"keepdim", true}});
     }},
    {"half-accumulate", Changes::kRounding, qwen2_bfloat},
};

class Faults : public testing::TestWithParam<Planting> {};

// Largest value of some results, and largest difference of another execution's.
struct Extent {
  double value = 0, difference = 0;
  void add(const ExactTensor& a, const ExactTensor& b) {
    for (std::size_t i = 0; i < a.integers.size(); ++i) {
      if (a.integers[i] != b.integers[i]) value = difference = 1;
    }
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      if (a.values[i] == b.values[i]) continue;  // infinities too
      value = std::max(value, std::abs(a.values[i]));
      difference = std::max(difference, std::abs(a.values[i] - b.values[i]));
    }
  }
  double share() const { return difference == 0 ? 0 : difference / value; }
};

// Proves: the planted program verifies, and is another function where the fault says so.
TEST_P(Faults, ChangeWhatTheySay) {
  const Case clean = GetParam().make();
  bool found = false;
  const Case faulty = plant(clean, GetParam().fault, op_table(), found);
  ASSERT_TRUE(found);
  EXPECT_NE(faulty.program, clean.program);
  verify(faulty, op_table());
  EXPECT_EQ(fault_kind(GetParam().fault).rounding_alone, GetParam().changes == Changes::kRounding);
  const Oracle oracle(op_table());
  const Exact before = oracle.exact(clean), after = oracle.exact(faulty);
  ASSERT_EQ(before.tensors.size(), after.tensors.size());
  Extent outputs, gradients;
  bool types = false;
  for (std::size_t i = 0; i < before.tensors.size(); ++i) {
    const ExactTensor &a = before.tensors[i], &b = after.tensors[i];
    ASSERT_EQ(a.present, b.present);
    types = types || a.type != b.type;
    ASSERT_EQ(a.type.shape, b.type.shape);
    (a.role == TensorResult::Role::kGradient ? gradients : outputs).add(a, b);
  }
  EXPECT_EQ(types, GetParam().changes == Changes::kTypes);
  if (GetParam().changes == Changes::kOutputs) {
    EXPECT_GT(outputs.share(), 1e-8);
  } else {
    EXPECT_LT(outputs.share(), 1e-8);
    const bool others = GetParam().changes == Changes::kGradientsAlone;
    EXPECT_TRUE(others ? gradients.share() > 0.01 : gradients.share() < 1e-8) << gradients.share();
  }
}

INSTANTIATE_TEST_SUITE_P(OfPrograms, Faults, testing::ValuesIn(kPlantings),
                         [](const auto& instance) {
                           std::string name = instance.param.fault;
                           name = name.substr(0, name.find('='));
                           std::erase(name, '-');
                           return name + "_" + std::to_string(instance.index);
                         });

// Every fault of the program is in the list above.
TEST(FaultKinds, AreAllTried) {
  for (const FaultKind& kind : fault_kinds()) {
    const bool tried = std::ranges::any_of(kPlantings, [&](const Planting& planting) {
      const std::string_view fault = planting.fault;
      return fault.substr(0, fault.find('=')) == kind.name;
    });
    EXPECT_EQ(tried, kind.in_program) << kind.name;
  }
}

Scheduler& scheduler() {
  static Scheduler instance(op_table(), {.jobs = 1});
  return instance;
}

std::vector<double> outputs_of(const Case& c, const std::string& system) {
  const RunRequest wishes[] = {request(c, system)};
  const auto run = scheduler().run(wishes)[0];
  EXPECT_TRUE(run.completed()) << run.exception_message << run.worker_text;
  return run.completed() ? run.executions[0].tensors[0].reals() : std::vector<double>();
}

// Proves: rounding that is written as arithmetic rounds as it says, on the real system.
TEST(FaultsOfRounding, CutHalfTypes) {
  const std::vector<double> cut =
      outputs_of(downcast(DType::kBFloat16), "eager@cpp[fault=truncate]");
  const std::vector<double> values{1 + 0x1.8p-8, 1.9999, -0.3337, 1e-3, 3e38};
  ASSERT_EQ(cut.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    int exponent = 0;  // 8 bits of significand: 0.1xxxxxxx * 2^exponent
    std::frexp(values[i], &exponent);
    const double unit = std::ldexp(1.0, exponent - 8);
    const double expected = std::trunc(values[i] / unit) * unit;
    EXPECT_EQ(cut[i], i == 4 ? round_to(DType::kBFloat16, values[i]) : expected) << values[i];
  }
}

// Proves: without a cast, operators of half types cut: 255.99 and 1.0117.
TEST(FaultsOfRounding, CutResultsOfHalfTypes) {
  const Case c =
      one("mul.Tensor", DType::kBFloat16, {2}, {255, 1.0078125}, {{"other", Scalar{1.0039}}});
  EXPECT_EQ(outputs_of(c, "eager@cpp"), (std::vector<double>{256, 1.015625}));
  EXPECT_EQ(outputs_of(c, "eager@cpp[fault=truncate]"), (std::vector<double>{255, 1.0078125}));
}

// Proves: 256 + 1 + 1 + ... stays 256 where it is accumulated in 8 bits.
TEST(FaultsOfRounding, AccumulateInTheHalfType) {
  std::vector<double> values(40, 1);
  values[0] = 256;
  const Case c = one("sum.default", DType::kBFloat16, {40}, values);
  EXPECT_EQ(outputs_of(c, "eager@cpp"), std::vector<double>{296});
  EXPECT_EQ(outputs_of(c, "eager@cpp[fault=half-accumulate]"), std::vector<double>{256});
  EXPECT_EQ(outputs_of(c, "aot_eager[fault=half-accumulate]"), std::vector<double>{256});
}

TEST(FaultsOfRounding, ComputeInTheHalfType) {
  for (const Case& c : {upcast(), softmax_in_float()}) {
    const DType half = c.program.inputs[0].dtype;
    bool rounded = true;
    for (const double y : outputs_of(c, "eager@cpp[fault=no-upcast]")) {
      rounded = rounded && round_to(half, y) == y;
    }
    EXPECT_TRUE(rounded);
    EXPECT_NE(outputs_of(c, "eager@cpp"), outputs_of(c, "eager@cpp[fault=no-upcast]"));
  }
}

TEST(FaultsOfWorkers, ChangeOneElementOrFlushSubnormals) {
  const double tiny = 0x1p-140;
  const Case c = one("neg.default", DType::kFloat32, {4}, {1, 2, 0, -4});
  const Case subnormal =
      one("mul.Tensor", DType::kFloat32, {2}, {tiny, 1}, {{"other", Scalar{2.0}}});
  for (const std::string system : {"eager@cpp", "eager@py"}) {
    EXPECT_EQ(outputs_of(c, system + "[fault=one-element=0.5]"),
              (std::vector<double>{-1, -2, -0.0, 6}));
    EXPECT_EQ(outputs_of(subnormal, system), (std::vector<double>{2 * tiny, 2}));
    EXPECT_EQ(outputs_of(subnormal, system + "[fault=flush-denormals]"),
              (std::vector<double>{0, 2}));
  }
}

}  // namespace
}  // namespace ulpfuzz
