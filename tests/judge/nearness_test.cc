// Which system is nearer to exact, from measures that are made up with known error scales.
#include "judge/nearness.h"

#include <gtest/gtest.h>

#include <cmath>

#include "generators/draw.h"
#include "judge/statistics.h"

namespace ulpfuzz {
namespace {

double normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

struct Scale {
  const char* system;
  double error;  // of a tensor's RMS error, geometric mean
  double legal;  // ratio to a legal execution
};

// Verdicts with `sets` measures each. Input sets share a factor, which pairing takes out.
std::vector<Verdict> verdicts_of(const std::vector<Scale>& scales, int sets, std::uint64_t seed,
                                 int tensors = 1) {
  Random random(seed);
  std::vector<Verdict> verdicts(scales.size());
  for (std::size_t s = 0; s < scales.size(); ++s) verdicts[s].system = scales[s].system;
  for (int t = 0; t < tensors; ++t) {
    for (int set = 0; set < sets; ++set) {
      const double common = std::exp(2 * normal(random));
      for (std::size_t s = 0; s < scales.size(); ++s) {
        const double noise = std::exp(0.2 * normal(random));
        TensorMeasure m;
        m.tensor = "output " + std::to_string(t);
        m.rung = "bfloat16";
        m.input_set = static_cast<std::uint64_t>(set);
        m.has_error = true;
        m.rms_error = scales[s].error * common * noise;
        m.rms_ratio = scales[s].legal * noise;
        verdicts[s].measures.push_back(m);
      }
    }
  }
  return verdicts;
}

// Proves: a system with 0.7 times eager's error is found nearer, its interval holds 0.7, and one
// with eager's own error is not told apart.
TEST(Nearness, FindsTheNearerSystem) {
  const auto near =
      nearness(verdicts_of({{"eager@py", 1, 1}, {"inductor", 0.7, 1}, {"thunder", 1, 1}}, 32, 1));
  ASSERT_EQ(near.size(), 1u);
  EXPECT_EQ(near[0].sets, 32);
  EXPECT_EQ(near[0].nearest, "inductor");
  const Nearness::System& inductor = near[0].systems[1];
  EXPECT_LT(inductor.to_eager.low, 0.7);
  EXPECT_GT(inductor.to_eager.high, 0.7);
  EXPECT_LT(inductor.to_eager.high, 1);
  const Nearness::System& thunder = near[0].systems[2];
  EXPECT_LT(thunder.to_eager.low, 1);
  EXPECT_GT(thunder.to_eager.high, 1);
  EXPECT_EQ(inductor.freedom, Membership::kInside);
}

// Proves: twice the margin's error is outside the freedom set, and the margin itself is neither.
TEST(Nearness, TellsTheFreedomSet) {
  const double edge = std::exp(allowance(Statistic::kDrift, "bfloat16").margin);
  const auto near =
      nearness(verdicts_of({{"eager@py", 1, 1}, {"far", 4, 2 * edge}, {"edge", 2, edge}}, 32, 2));
  ASSERT_EQ(near.size(), 1u);
  EXPECT_EQ(near[0].systems[0].freedom, Membership::kInside);
  EXPECT_EQ(near[0].systems[1].freedom, Membership::kOutside);
  EXPECT_EQ(near[0].systems[2].freedom, Membership::kUnsure);
}

// Proves: intervals are simultaneous. Of 200 comparisons of 15 tensors between equal systems, at
// most 5 % (and 4 standard deviations) call any of them nearer or farther.
TEST(Nearness, RarelyErrsAnywhere) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto near =
        nearness(verdicts_of({{"eager@py", 1, 1}, {"inductor", 1, 1}}, 8, 1000 + seed, 15));
    bool any = false;
    for (const Nearness& n : near) {
      any = any || n.systems[1].to_eager.high < 1 || n.systems[1].to_eager.low > 1;
    }
    wrong += any;
  }
  EXPECT_LE(wrong, 10 + 12);
}

// Proves: one input set says nothing.
TEST(Nearness, NeedsTwoInputSets) {
  EXPECT_TRUE(nearness(verdicts_of({{"eager@py", 1, 1}, {"inductor", 1, 1}}, 1, 3)).empty());
  EXPECT_TRUE(nearness({}).empty());
}

}  // namespace
}  // namespace ulpfuzz
