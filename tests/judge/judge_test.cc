// The judge as a whole: what it asks for, and what it concludes from runs that are made up.
#include "judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "generators/build.h"
#include "ir/verify.h"
#include "judge/rung.h"
#include "ops/table.h"
#include "tests/judge/runs.h"

namespace ulpfuzz {
namespace {

Case sine(DType dtype, std::int64_t n = 64) {
  ProgramBuilder b;
  Fill fill;
  fill.seed = 5;
  const Ref x = b.input("x", dtype, {n}, fill);
  const Ref y = b.call("y", "sin.default", {{"self", x}});
  b.output(b.call("z", "mul.Tensor", {{"self", y}, {"other", y}}));
  return std::move(b).take();
}

// A system that computes sine() rightly, one rounding to float32 at the end, times `factor`.
Run compute(const RunRequest& request, double factor) {
  Run run;
  run.counters["graphs"] = 1;
  for (const std::uint64_t set : request.input_sets) {
    const ProgramInput& input = request.test.program.inputs[0];
    const std::int64_t n = input.shape[0].constant;
    const Elements x = generate(request.test.inputs[0].fill, input.dtype, {n}, set);
    std::vector<float> values;
    std::vector<std::uint16_t> halves;
    for (const double v : x.reals) {
      const double y = std::sin(v) * std::sin(v) * factor;
      const auto rounded = static_cast<float>(round_to(input.dtype, y));
      values.push_back(rounded);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &rounded, sizeof bits);
      halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    }
    TensorResult result = input.dtype == DType::kBFloat16
                              ? tensor_of("output 0", DType::kBFloat16, {n}, halves)
                              : tensor_of("output 0", DType::kFloat32, {n}, values);
    run.executions.push_back({set, {std::move(result)}});
  }
  return run;
}

struct Outcome {
  std::vector<Verdict> verdicts;
  std::vector<RunRequest> asked;
  int rounds = 0;
};

// Plays scheduler: eager is off by `of_eager`, the system by `factor`.
Outcome play(const Case& c, double factor, JudgeOptions options = {}, double of_eager = 1,
             const std::string& system = "inductor") {
  options.systems = parse_systems(system);
  const Judge judge(c, options, op_table());
  std::vector<Evidence> evidence;
  Outcome outcome;
  while (outcome.rounds++ < 10) {
    Judge::Step step = judge.next(evidence);
    if (step.requests.empty()) {
      outcome.verdicts = std::move(step.verdicts);
      break;
    }
    for (RunRequest& request : step.requests) {
      const bool eager = request.system.name == "eager@py";
      outcome.asked.push_back(request);
      evidence.push_back({request, compute(request, eager ? of_eager : factor)});
    }
  }
  return outcome;
}

VerdictKind of_inductor(const Outcome& outcome) {
  return outcome.verdicts.size() == 2 ? outcome.verdicts[1].primary : VerdictKind::kUndecided;
}

TEST(Judge, ASystemThatEqualsEagerAgrees) {
  const Outcome outcome = play(sine(DType::kFloat32), 1);
  EXPECT_EQ(of_inductor(outcome), VerdictKind::kAgree);
  EXPECT_EQ(outcome.verdicts[0].system, "eager@py");
  EXPECT_EQ(outcome.verdicts[0].primary, VerdictKind::kAgree);
  EXPECT_EQ(outcome.verdicts[1].judge_model, Judge::model_hash());
}

TEST(Judge, AnErrorBeyondTheBoundIsWrong) {
  EXPECT_EQ(of_inductor(play(sine(DType::kFloat32), 1.001)), VerdictKind::kWrong);
}

// Half a percent drowns in bfloat16's rounding and is plain on the float32 rung.
TEST(Judge, TheLadderShowsWhatAHalfTypeHides) {
  JudgeOptions options;
  options.ladder = JudgeOptions::Ladder::kAlways;
  const Outcome outcome = play(sine(DType::kBFloat16), 1.005, options);
  ASSERT_EQ(of_inductor(outcome), VerdictKind::kWrong);
  for (const Fact& fact : outcome.verdicts[1].facts) {
    if (fact.kind != VerdictKind::kWrong) continue;
    EXPECT_EQ(fact.rung, "float32");
  }
  EXPECT_NE(of_inductor(play(sine(DType::kBFloat16), 1, options)), VerdictKind::kWrong);
  options.ladder = JudgeOptions::Ladder::kNone;
  EXPECT_NE(of_inductor(play(sine(DType::kBFloat16), 1.005, options)), VerdictKind::kWrong);
}

// Proves: wider intermediates are named only of a system that may keep them and errs less than
// eager; what errs more, or rounds as eager does, is told by its error alone.
TEST(Judge, WiderIntermediatesAreNoReasonToErrMore) {
  JudgeOptions options;
  options.ladder = JudgeOptions::Ladder::kNone;
  const Case half = sine(DType::kBFloat16);
  EXPECT_EQ(of_inductor(play(half, 1, options, 1.003)), VerdictKind::kExcessPrecision);
  EXPECT_EQ(of_inductor(play(half, 1.003, options)), VerdictKind::kReordered);
  EXPECT_EQ(of_inductor(play(half, 1, options, 1.003, "aot_eager")), VerdictKind::kReordered);
}

TEST(Judge, AsksForEachRunOnceAndForEagerBesideEverySystem) {
  const Outcome outcome = play(sine(DType::kFloat32), 1);
  std::set<std::string> hashes;
  for (const RunRequest& request : outcome.asked) hashes.insert(request.hash());
  EXPECT_EQ(hashes.size(), outcome.asked.size());
  EXPECT_EQ(outcome.asked.size(), 2u);
}

TEST(Judge, SeedsAreInputSetsTheFirstIsRepeatedAndFreshOnesRideAlong) {
  JudgeOptions options;
  options.seeds = 3;
  const Outcome outcome = play(sine(DType::kFloat32), 1, options);
  EXPECT_THAT(outcome.asked[0].input_sets, testing::ElementsAre(0, 1, 2, 0, 3, 4, 5, 6));
  options.confirm = false;
  const Outcome unconfirmed = play(sine(DType::kFloat32), 1, options);
  EXPECT_THAT(unconfirmed.asked[0].input_sets, testing::ElementsAre(0, 1, 2, 0));
}

TEST(Judge, TheSameEvidenceGivesTheSameAnswer) {
  const Outcome a = play(sine(DType::kBFloat16), 1.005);
  const Outcome b = play(sine(DType::kBFloat16), 1.005);
  ASSERT_EQ(a.verdicts.size(), b.verdicts.size());
  for (std::size_t i = 0; i < a.verdicts.size(); ++i) {
    EXPECT_EQ(to_json(a.verdicts[i]), to_json(b.verdicts[i]));
  }
}

TEST(Rung, InputsOfTheHigherRungAreTheSameNumbers) {
  const Case low = sine(DType::kBFloat16);
  const Case high = at_rung(low, DType::kFloat32, op_table());
  EXPECT_EQ(high.program.inputs[0].dtype, DType::kFloat32);
  EXPECT_EQ(generate(high.inputs[0].fill, DType::kFloat32, {64}).reals,
            generate(low.inputs[0].fill, DType::kBFloat16, {64}).reals);
  EXPECT_NO_THROW(verify(high, op_table()));
}

TEST(Rung, DtypeArgumentsAreRaisedAndIntegersStay) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat16, {4}, Fill{});
  const Ref y = b.call("y", "to.dtype", {{"self", x}, {"dtype", DType::kBFloat16}});
  b.output(b.call("z", "to.dtype", {{"self", y}, {"dtype", DType::kInt32}}));
  const Case c = std::move(b).take();
  EXPECT_EQ(narrowest_floating(c), DType::kBFloat16);
  const Case high = at_rung(c, DType::kFloat32, op_table());
  EXPECT_EQ(std::get<DType>(*high.program.nodes[0].find("dtype")), DType::kFloat32);
  EXPECT_EQ(std::get<DType>(*high.program.nodes[1].find("dtype")), DType::kInt32);
}

// What is asked for at first: systems, with the number of inputs to differentiate by.
std::vector<std::pair<std::string, std::size_t>> first_wishes(const Case& c,
                                                              const std::string& systems) {
  JudgeOptions options;
  options.systems = parse_systems(systems);
  std::vector<std::pair<std::string, std::size_t>> wishes;
  for (const RunRequest& request : Judge(c, options, op_table()).next({}).requests) {
    wishes.emplace_back(to_string(request.system), request.test.wrt.size());
  }
  return wishes;
}

TEST(Judge, HoldsASystemAgainstEagerOfItsOwnEnvironment) {
  using testing::Pair;
  EXPECT_THAT(first_wishes(sine(DType::kFloat32), "inductor,inductor@old,inductor[a=1]@old"),
              testing::UnorderedElementsAre(Pair("eager@py", 0), Pair("eager@py@old", 0),
                                            Pair("inductor", 0), Pair("inductor@old", 0),
                                            Pair("inductor[a=1]@old", 0)));
}

// Its neighbour is eager mode of the forward part: the same is asked of both.
TEST(Judge, AsksAForwardOnlySystemForTheForwardPart) {
  using testing::Pair;
  Case c = sine(DType::kFloat32);
  c.wrt = {"x"};
  c.cotangents[0].emplace();
  EXPECT_THAT(first_wishes(c, "inductor,aoti"),
              testing::UnorderedElementsAre(Pair("eager@py", 1), Pair("inductor", 1),
                                            Pair("eager@py", 0), Pair("aoti", 0)));
}

}  // namespace
}  // namespace ulpfuzz
