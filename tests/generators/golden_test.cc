#include <gtest/gtest.h>

#include <array>

#include "generators/family.h"
#include "generators/generate.h"
#include "ir/call.h"

// Same seed, same cases, on every machine and compiler. The operators are this test's own, so that
// a new row in ops/ changes nothing here: when a hash differs, the generators have changed, and
// seeds that people noted give other cases.
namespace ulpfuzz {
namespace {

std::vector<TensorType> infer_unary(const Call& call) { return {call.tensor("self")}; }

std::vector<TensorType> infer_binary(const Call& call) {
  Promotion promotion;
  promotion.add(call.tensor("self"));
  promotion.add(call.tensor("other"));
  return {{promotion.result(), broadcast(call.tensor("self").shape, call.tensor("other").shape)}};
}

std::vector<TensorType> infer_expand(const Call& call) {
  return {{call.tensor("self").dtype, call.integers("size")}};
}

bool draw_unary(Draw& d) {
  return d.call({{"self", d.operand({.types = Want::Types::kFloating})}});
}

bool draw_binary(Draw& d) {
  const Ref self = d.operand();
  return d.call({{"self", self}, {"other", d.broadcastable(self)}});
}

bool draw_expand(Draw& d) {
  const Ref self = d.operand({.min_rank = 1});
  std::vector<Dim> size;
  for (const std::int64_t length : d.type(self).shape) size.push_back(length);
  size.insert(size.begin(), Dim(3));
  return d.call({{"self", self}, {"size", size}});
}

constexpr std::array kEdges = {1e-5, 20.0};
const std::array kRows = {
    OpRow{.schema = "aten::sin(Tensor self) -> Tensor",
          .python = "torch.sin",
          .infer = infer_unary,
          .derivative = [](Backward&) {},
          .draw = draw_unary,
          .edges = kEdges},
    OpRow{.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
          .python = "torch.mul",
          .infer = infer_binary,
          .derivative = [](Backward&) {},
          .draw = draw_binary,
          .weight = 2},
    OpRow{.schema = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> "
                    "Tensor(a)",
          .python = ".expand",
          .infer = infer_expand,
          .derivative = [](Backward&) {},
          .draw = draw_expand,
          .numerics = {.is_view = true}},
};

TEST(Golden, OpGraphsAreTheSameEverywhere) {
  const std::array<std::span<const OpRow>, 1> families = {kRows};
  const OpTable table(families);
  Profile profile;
  profile.model_share = 0;
  EXPECT_EQ(hashes(generate_case(1, 0, table, profile)).whole,
            "69484e8f9476e9a4bd84c80c00002d17c021c0a100d3de05ff49e685a7baff3c");
  EXPECT_EQ(hashes(generate_case(1, 7, table, profile)).whole,
            "6e728eee952cf6232f9131f178dcfe42422247b3869742b4d438e1a6324ba26f");
  EXPECT_EQ(hashes(generate_case(2, 1000, table, profile)).whole,
            "9739e0f4fb6530deaf6c1f36db9bad21e46f7c9c46af432a47665697761fe1b9");
}

TEST(Golden, ModelsAreTheSameEverywhere) {
  const auto hash = [](const char* name) {
    Random random(1);
    Case c;
    c.model = family(name).draw(random);
    return hashes(lower(c)).whole;
  };
  EXPECT_EQ(hash("qwen2"), "08f382391ae3843e73233b97c417a53a13a6e51e86f7134812f271a254827f2c");
  EXPECT_EQ(hash("llama"), "250875497196d670fbc6664e76b7f3a66b09c3d3b73771c773d2a421d1ede359");
  EXPECT_EQ(hash("phi3"), "13e8a1962cbf8f21aff4c579d923772b792faf57cd8aeb7a08984bbb5474a825");
}

}  // namespace
}  // namespace ulpfuzz
