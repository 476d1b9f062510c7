// Relations: on a system that computes rightly each holds, and on one that is wrong in one of the
// two forms each is broken, by two runs alone.
#include "judge/relation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "generators/build.h"
#include "ir/error.h"
#include "judge/judge.h"
#include "ops/table.h"
#include "oracle/oracle.h"
#include "systems/kinds.h"
#include "tests/judge/runs.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Multiplies what is computed for a request; 1: right.
using Fault = std::function<double(const RunRequest&)>;
double none(const RunRequest&) { return 1; }

TensorResult result_of(const ExactTensor& exact, double factor) {
  TensorResult t;
  t.name = exact.name;
  t.role = exact.role;
  t.layout = {exact.type.dtype, exact.type.shape, contiguous_strides(exact.type.shape), 0};
  const auto put = [&](auto value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    t.bytes.insert(t.bytes.end(), bytes, bytes + sizeof value);
  };
  for (const std::int64_t value : exact.integers) put(static_cast<std::uint8_t>(value));
  for (const double value : exact.values) {
    const double rounded = round_to(exact.type.dtype, value * factor);
    if (exact.type.dtype == DType::kFloat64) {
      put(rounded);
      continue;
    }
    const auto single = static_cast<float>(rounded);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    if (exact.type.dtype == DType::kFloat32) {
      put(bits);
    } else {
      put(static_cast<std::uint16_t>(bits >> 16));  // bfloat16
    }
  }
  return t;
}

// A system that rounds exact results once.
Run compute(const RunRequest& request, double factor) {
  Run run;
  run.counters["graphs"] = 1;
  for (const std::uint64_t set : request.input_sets) {
    const Exact exact = Oracle(op_table()).exact(request.test, set);
    run.executions.push_back({set, {}});
    for (const ExactTensor& tensor : exact.tensors) {
      run.executions.back().tensors.push_back(result_of(tensor, factor));
    }
  }
  return run;
}

struct Outcome {
  Verdict verdict;
  std::vector<RunRequest> asked;
};

// The verdict on `system` where no value is held against an exact one.
Outcome judged(const Case& c, const std::string& relations, const Fault& fault,
               const std::string& system = "inductor",
               const std::function<Run(const RunRequest&, double)>& run = compute) {
  JudgeOptions options;
  options.systems = parse_systems(system);
  options.relations = chosen_relations(relations);
  options.values = options.confirm = false;
  const Judge judge(c, options, op_table());
  std::vector<Evidence> evidence;
  Outcome outcome;
  for (int round = 0; round < 10; ++round) {
    Judge::Step step = judge.next(evidence);
    if (step.requests.empty()) {
      outcome.verdict = step.verdicts.back();
      return outcome;
    }
    for (RunRequest& request : step.requests) {
      outcome.asked.push_back(request);
      const bool eager = request.system.name == "eager@py" && system != "eager@py";
      evidence.push_back({request, run(request, eager ? 1 : fault(request))});
    }
  }
  ADD_FAILURE() << "the judge does not come to an end";
  return outcome;
}

void expect_held(const Case& c, const std::string& relation) {
  const Outcome outcome = judged(c, relation, none);
  EXPECT_THAT(outcome.verdict.facts, IsEmpty())
      << relation << ": " << outcome.verdict.facts.front().detail;
  EXPECT_EQ(outcome.verdict.primary, VerdictKind::kAgree);
  EXPECT_GT(outcome.asked.size(), 2u) << relation << " asks for no twin";
}

void expect_broken(const Case& c, const std::string& relation, const Fault& fault,
                   VerdictKind kind = VerdictKind::kWrong) {
  const Verdict verdict = judged(c, relation, fault).verdict;
  EXPECT_EQ(verdict.primary, kind) << relation;
  EXPECT_EQ(signature(verdict).detail, relation);
  ASSERT_FALSE(verdict.facts.empty());
  EXPECT_EQ(relation_of(verdict.facts.front()), find_relation(relation));
}

bool has_op(const RunRequest& request, std::string_view op) {
  return std::ranges::any_of(request.test.program.nodes,
                             [&](const Node& node) { return node.op == op; });
}

Fill normal(std::uint64_t seed) {
  Fill fill;
  fill.seed = seed;
  return fill;
}

// Two query heads to a key head, causal.
Case attention(DType dtype = DType::kFloat32) {
  ProgramBuilder b;
  const Ref q = b.input("q", dtype, {2, 4, 5, 8}, normal(1));
  const Ref k = b.input("k", dtype, {2, 2, 5, 8}, normal(2));
  const Ref v = b.input("v", dtype, {2, 2, 5, 8}, normal(3));
  b.output(
      b.call("y", "scaled_dot_product_attention.default",
             {{"query", q}, {"key", k}, {"value", v}, {"is_causal", true}, {"enable_gqa", true}}));
  return std::move(b).take();
}

Case wave(DType dtype = DType::kFloat32) {
  ProgramBuilder b;
  const Ref x = b.input("x", dtype, {4, 16}, normal(5));
  const Ref w = b.input("w", dtype, {16, 16}, normal(6));
  const Ref y = b.call("y", "matmul.default", {{"self", x}, {"other", w}});
  b.output(b.call("z", "sin.default", {{"self", y}}));
  return std::move(b).take();
}

// Each element is rounded once, wherever it lies.
Case product() {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4, 16}, normal(5));
  const Ref y = b.call("y", "relu.default", {{"self", x}});
  b.output(b.call("z", "mul.Tensor", {{"self", y}, {"other", x}}));
  return std::move(b).take();
}

TEST(Relations, GroupedQueriesAreRepeatedKeys) {
  expect_held(attention(), "gqa-repeated");
  expect_broken(attention(), "gqa-repeated", [](const RunRequest& r) {
    return has_op(r, "aten.repeat_interleave.self_int") ? 1 : 1.01;
  });
}

TEST(Relations, CausalIsAMask) {
  expect_held(attention(), "causal-mask");
  expect_broken(attention(), "causal-mask",
                [](const RunRequest& r) { return has_op(r, "aten.tril.default") ? 1.01 : 1; });
}

TEST(Relations, KernelsOfAttentionAgree) {
  expect_held(attention(), "sdpa-kernels");
  expect_broken(attention(), "sdpa-kernels", [](const RunRequest& r) {
    const auto& choice = r.test.environment.sdpa;
    return choice && choice->kernels.front() == SdpaKernel::kFlash ? 0.99 : 1;
  });
}

TEST(Relations, ABatchMayBePermuted) {
  expect_held(wave(), "permuted-batch");
  expect_held(attention(), "permuted-batch");
  const Fault fault = [](const RunRequest& r) { return has_op(r, "aten.flip.default") ? 1.01 : 1; };
  expect_broken(wave(), "permuted-batch", fault);
  expect_broken(attention(), "permuted-batch", fault);
}

// A sum over the batch, or a weight that may be taken for one, is no batch.
TEST(Relations, NothingIsPermutedWhereEntriesMix) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4, 16}, normal(5));
  const Ref y = b.call("y", "softmax.int", {{"self", x}, {"dim", Dim(0)}});
  b.output(b.call("z", "sin.default", {{"self", y}}));
  EXPECT_EQ(judged(std::move(b).take(), "permuted-batch", none).asked.size(), 2u);
}

TEST(Relations, DynamicShapesAreNoOther) {
  expect_held(wave(), "dynamic-static");
  const Fault fault = [](const RunRequest& r) { return r.test.environment.dynamic ? 1.01 : 1; };
  expect_broken(wave(), "dynamic-static", fault);
  // One ulp is enough where bits must agree.
  expect_held(product(), "dynamic-static");
  expect_broken(product(), "dynamic-static",
                [](const RunRequest& r) { return r.test.environment.dynamic ? 1 + 1.2e-7 : 1; });
}

TEST(Relations, LayoutsOfInputsDoNotMatter) {
  expect_held(wave(), "strided-contiguous");
  const auto is_turned = [](const RunRequest& r) { return !r.test.inputs[0].strides.empty(); };
  expect_broken(wave(), "strided-contiguous",
                [&](const RunRequest& r) { return is_turned(r) ? 1.01 : 1; });
  expect_broken(product(), "strided-contiguous",
                [&](const RunRequest& r) { return is_turned(r) ? 1 + 1.2e-7 : 1; });
  Case strided = product();
  strided.inputs[0].strides = {32, 2};
  expect_held(strided, "strided-contiguous");
  // Elements that share memory would be other numbers elsewhere.
  strided.inputs[0].strides = {0, 1};
  EXPECT_EQ(judged(strided, "strided-contiguous", none).asked.size(), 2u);
}

TEST(Relations, CachedCodeIsTheSameCode) {
  expect_held(wave(), "warm-cold");
  expect_broken(
      wave(), "warm-cold",
      [](const RunRequest& r) { return r.test.environment.warm_caches ? 1 + 1.2e-7 : 1; },
      VerdictKind::kNondeterministic);
  const auto raises = [](const RunRequest& r, double) {
    return r.test.environment.warm_caches ? raised(Stage::kCompile, "KeyError", "key")
                                          : compute(r, 1);
  };
  const Verdict verdict = judged(wave(), "warm-cold", none, "inductor", raises).verdict;
  EXPECT_EQ(verdict.primary, VerdictKind::kAcceptReject);
  EXPECT_EQ(signature(verdict).detail, "warm-cold");
}

Case with_random(const std::string& op, std::vector<NamedArgument> args) {
  ProgramBuilder b;
  args.insert(args.begin(), {op == "dropout.default" ? "input" : "self",
                             b.input("x", DType::kFloat32, {32}, normal(5))});
  const Ref drawn = b.call("drawn", op, std::move(args));
  b.output(b.call("y", "sin.default", {{"self", drawn}}));
  return std::move(b).take();
}

// A generator whose numbers depend on `stream`.
Run draw(const RunRequest& request, double stream) {
  Run run = compute(request, 1);
  for (Execution& execution : run.executions) {
    for (TensorResult& t : execution.tensors) {
      for (std::size_t i = 0; i < t.bytes.size(); ++i) {
        const double kept = static_cast<double>((i * 7 + static_cast<std::size_t>(stream)) % 3 / 2);
        t.bytes[i] = static_cast<std::byte>(kept);
      }
    }
  }
  return run;
}

TEST(Relations, EqualGeneratorsDrawEqualNumbers) {
  for (const Case& c :
       {with_random("rand_like.default", {}), with_random("bernoulli.p", {{"p", 0.25}}),
        with_random("dropout.default", {{"p", 0.5}, {"train", true}})}) {
    const auto alike = [](const RunRequest& r, double) { return draw(r, 1); };
    const Outcome held = judged(c, "equal-random", none, "aot_eager", alike);
    EXPECT_THAT(held.verdict.facts, IsEmpty());
    EXPECT_EQ(held.asked.size(), 4u);  // eager and compiled, of the program and of its draws
    const auto unlike = [](const RunRequest& r, double) {
      return draw(r, r.system.name == "eager@py" ? 1 : 2);
    };
    const Verdict broken = judged(c, "equal-random", none, "aot_eager", unlike).verdict;
    EXPECT_EQ(broken.primary, VerdictKind::kNondeterministic);
    EXPECT_EQ(signature(broken).detail, "equal-random");
  }
}

// Nothing else is concluded from what was drawn: no exact value holds it.
TEST(Relations, DrawnNumbersAreNotJudgedByValue) {
  JudgeOptions options;
  options.systems = parse_systems("inductor");
  const Judge judge(with_random("rand_like.default", {}), options, op_table());
  std::vector<Evidence> evidence;
  Judge::Step step;
  for (int round = 0; round < 10; ++round) {
    step = judge.next(evidence);
    if (step.requests.empty()) break;
    for (RunRequest& r : step.requests) {
      evidence.push_back({r, draw(r, r.system.name == "eager@py" ? 1 : 2)});
    }
  }
  ASSERT_EQ(step.verdicts.size(), 2u);
  EXPECT_FALSE(is_finding(step.verdicts[1].primary)) << step.verdicts[1].facts[0].detail;
}

// Rounding is no finding: forms may be apart by what both spread, in half types too.
TEST(Relations, RoundingBreaksNothing) {
  const Fault ulps = [](const RunRequest& r) {
    if (r.test.environment.dynamic) return 1 + 8 * 1.2e-7;
    return 1.0;
  };
  EXPECT_THAT(judged(wave(), "dynamic-static", ulps).verdict.facts, IsEmpty());
  const Fault halves = [](const RunRequest& r) {
    const bool half = r.test.program.inputs[0].dtype == DType::kBFloat16;
    return r.test.environment.dynamic ? (half ? 1.02 : 1 + 8 * 1.2e-7) : 1.0;
  };
  EXPECT_THAT(judged(wave(DType::kBFloat16), "dynamic-static", halves).verdict.facts, IsEmpty());
}

// What bfloat16 hides is plain on the float32 rung.
TEST(Relations, HalfTypesAreRaised) {
  const Verdict verdict = judged(wave(DType::kBFloat16), "dynamic-static", [](const RunRequest& r) {
                            return r.test.environment.dynamic ? 1.01 : 1;
                          }).verdict;
  ASSERT_EQ(verdict.primary, VerdictKind::kWrong);
  EXPECT_EQ(verdict.facts.front().rung, "float32");
  EXPECT_THAT(verdict.facts.front().detail, HasSubstr("on each of 3 input sets"));
}

// Where eager contradicts itself as much, that is eager's verdict. Its float64 tells that the two
// are one value.
TEST(Relations, EagerIsHeldToThemToo) {
  const Fault turned = [](const RunRequest& r) {
    const bool wide = r.test.program.inputs[0].dtype == DType::kFloat64;
    return wide || r.test.inputs[0].strides.empty() ? 1 : 1.01;
  };
  EXPECT_EQ(judged(wave(), "strided-contiguous", turned, "eager@py").verdict.primary,
            VerdictKind::kWrong);
  const auto both = [&](const RunRequest& r, double) { return compute(r, turned(r)); };
  EXPECT_THAT(judged(wave(), "strided-contiguous", none, "inductor", both).verdict.facts,
              IsEmpty());
}

// Where results jump, rounding may fall either way, and nothing is compared.
TEST(Relations, JumpsAreLeftOut) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4, 16}, normal(5));
  const Ref y = b.call("y", "sin.default", {{"self", x}});
  b.output(b.call("z", "floor.default", {{"self", y}}));
  EXPECT_EQ(judged(std::move(b).take(), "dynamic-static", none).asked.size(), 2u);
}

// Beside exact values a comparison of numbers says nothing new: only bits are asked about.
TEST(Relations, SpreadIsAskedOnlyWhereNoValueIsKnown) {
  JudgeOptions options;
  options.systems = parse_systems("inductor");
  options.relations = {"dynamic-static"};
  for (const auto& [c, more] : {std::pair{wave(), false}, std::pair{product(), true}}) {
    const Judge judge(c, options, op_table());
    std::vector<Evidence> evidence;
    for (const RunRequest& r : judge.next({}).requests) evidence.push_back({r, compute(r, 1)});
    EXPECT_EQ(judge.next(evidence).requests.empty(), !more);
  }
}

TEST(Relations, AreChosenByName) {
  EXPECT_THAT(chosen_relations("none"), IsEmpty());
  EXPECT_THAT(chosen_relations("warm-cold,gqa-repeated"),
              testing::ElementsAre("warm-cold", "gqa-repeated"));
  EXPECT_THAT(chosen_relations("cheap"), testing::Not(testing::Contains("warm-cold")));
  EXPECT_EQ(chosen_relations("all").size(), chosen_relations("cheap").size() + 1);
  EXPECT_THAT(chosen_relations("repeated"), IsEmpty());  // held always
  EXPECT_THROW(chosen_relations("gqa"), Error);
}

}  // namespace
}  // namespace ulpfuzz
