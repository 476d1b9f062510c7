// Executions under given decisions: they are legal ones, and a change is evaluated as from anew.
#include "oracle/replay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "generators/family.h"
#include "ops/table.h"
#include "oracle/oracle.h"
#include "tests/oracle/programs.h"

namespace ulpfuzz {
namespace {

Case qwen2() {
  return lower(case_from_json(R"({"ulpfuzz": 1, "model": {"family": "qwen2", "config": {
      "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 24,
      "max_position_embeddings": 16, "batch": 1, "length": 6, "first_position": 0, "rope": true,
      "cast_buffers": false, "tie_word_embeddings": false, "pad_token_id": -1,
      "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "initializer_range": 0.2, "labels": true,
      "ignore_some": false, "gradients": true, "seed": 7, "dtype": "bfloat16"}}})",
                              "qwen2"));
}

std::vector<double> stored(const Replay& replay, const Replay::State& state, std::size_t t) {
  std::vector<double> all = replay.result(state, t);
  for (double& x : all) x = round_to(replay.result_type(t).dtype, x);
  return all;
}

// Proves: with everything rounded, or nothing, it is the legal execution of that freedom without
// noise, gradients included.
TEST(Replay, IsALegalExecution) {
  const Case c = qwen2();
  const Replay replay(c, op_table(), 3);
  ASSERT_GT(replay.choices().size(), 20U);
  for (const bool wide : {false, true}) {
    const FreedomSet freedom{"one", wide ? 0.0 : 1.0, 0, wide ? 1.0 : 0.0, 0};
    const LegalRuns legal = Oracle(op_table()).legal(c, 3, freedom, 1, 1);
    Replay::Decisions decisions;
    for (const Replay::Choice& choice : replay.choices()) {
      decisions.wide.push_back(wide && !choice.extern_result);
    }
    const auto state = replay.run(decisions);
    for (std::size_t t = 0; t < replay.results(); ++t) {
      if (legal.values[t].empty()) continue;
      EXPECT_EQ(stored(replay, *state, t), legal.values[t][0]) << t;
    }
  }
}

// Proves: a change from any state gives the bits of an evaluation from anew.
TEST(Replay, AChangeIsAnEvaluation) {
  const Case c = qwen2();
  const Replay replay(c, op_table(), 0);
  Replay::Decisions decisions{replay.fused()};
  Replay::StatePtr state = replay.run(decisions);
  int differ = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t choice = i * 7919 % decisions.wide.size();
    decisions.wide[choice] = !decisions.wide[choice];
    const Replay::StatePtr changed = replay.change(state, decisions);
    const Replay::StatePtr anew = replay.run(decisions);
    for (std::size_t t = 0; t < replay.results(); ++t) {
      ASSERT_EQ(replay.result(*changed, t), replay.result(*anew, t)) << choice;
      differ += replay.result(*changed, t) != replay.result(*state, t);
    }
    state = changed;
  }
  EXPECT_GT(differ, 40);
}

// Proves: a decision within error of its edge is found where it is made, not after; it can be set.
TEST(Replay, TiesAreFoundAndSet) {
  const Case c =
      CaseText()
          .input("x", DType::kBFloat16, {3}, literal({1.0078125, 1, 2}))
          .node("s", "aten.mul.Tensor", {{"self", ref("x")}, {"other", number(1.4921875)}})
          .node("n", "aten.round.default", {{"self", ref("s")}})
          .node("m", "aten.floor.default", {{"self", ref("n")}})
          .output("m")
          .get();
  const Replay replay(c, op_table(), 0);
  const std::vector<Replay::Tie> ties = replay.ties(10);
  ASSERT_EQ(ties.size(), 1U);  // 1.504 may be stored as 1.5
  EXPECT_EQ(ties[0].element, 0);
  const int slot = replay.slot_of({"n", 0});
  ASSERT_GE(slot, 0);
  Replay::Decisions decisions{std::vector<bool>(replay.choices().size(), false)};
  decisions.branches = {{slot, 2, 7}};
  EXPECT_EQ(replay.result(*replay.run(decisions), 0), (std::vector<double>{2, 1, 7}));
}

}  // namespace
}  // namespace ulpfuzz
