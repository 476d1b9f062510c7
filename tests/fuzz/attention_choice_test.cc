#include <gtest/gtest.h>

#include <algorithm>

#include "fuzz/investigate.h"
#include "generators/build.h"
#include "generators/circumstances.h"
#include "ops/table.h"

// Every list of two and of three attention kernels, with and without priority, on real torch: which
// kernel runs, and what the judge says of it.
namespace ulpfuzz {
namespace {

constexpr const char* kFaulty = "eager@py[fault=ignores-sdpa-choice]";

// `rank` 4 is what flash takes; of other ranks only the math path.
Case attention(SdpaChoice choice, bool four_dimensions = true) {
  ProgramBuilder b;
  const std::vector<Dim> shape =
      four_dimensions ? std::vector<Dim>{1, 2, 3, 4} : std::vector<Dim>{2, 3, 4};
  const Ref x = b.input("x", DType::kFloat32, shape, Fill{});
  b.output(b.call("y", "scaled_dot_product_attention.default",
                  {{"query", x}, {"key", x}, {"value", x}}));
  Case c = std::move(b).take();
  c.environment.sdpa = std::move(choice);
  return c;
}

std::vector<Judged> judged(const std::vector<Case>& cases) {
  static Scheduler scheduler(op_table(), {.jobs = 1});
  JudgeOptions options;
  options.systems = {parse_system(kFaulty)};
  options.confirm = false;
  return judge_cases(cases, options, op_table(), scheduler);
}

bool contains(const SdpaChoice& choice, SdpaKernel kernel) {
  return std::ranges::find(choice.kernels, kernel) != choice.kernels.end();
}

bool math_first(const SdpaChoice& choice) {
  const auto at = [&](SdpaKernel kernel) { return std::ranges::find(choice.kernels, kernel); };
  return at(SdpaKernel::kMath) < at(SdpaKernel::kFlash);
}

const Fact* mismatch(const Verdict& verdict) {
  const auto fact = std::ranges::find(verdict.facts, VerdictKind::kKernelMismatch, &Fact::kind);
  return fact == verdict.facts.end() ? nullptr : &*fact;
}

// Eager on a CPU obeys every list, but not its order: flash goes first where the list has it,
// whatever the priority (torch 2.11.0). Without a choice flash runs: a system that ignores the
// choice is seen exactly where the list leaves flash out.
TEST(AttentionChoice, EveryListOfTwoAndThreeKernels) {
  std::vector<Case> cases;
  for (const std::vector<SdpaKernel>& list : sdpa_lists("cpu")) {
    if (list.size() != 2 && list.size() != 3) continue;
    for (const bool priority : {false, true}) cases.push_back(attention({list, priority}));
  }
  ASSERT_EQ(cases.size(), 2u * (10 + 24));
  const std::vector<Judged> all = judged(cases);
  int ignored = 0, disordered = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const SdpaChoice& choice = *cases[i].environment.sdpa;
    std::string list = choice.set_priority ? "in order:" : "any order:";
    for (const SdpaKernel kernel : choice.kernels) list += " " + std::string(name(kernel));
    ASSERT_EQ(all[i].verdicts.size(), 2u) << list;
    const bool out_of_order = choice.set_priority && contains(choice, SdpaKernel::kMath) &&
                              contains(choice, SdpaKernel::kFlash) && math_first(choice);
    const Fact* eager = mismatch(all[i].verdicts[0]);
    EXPECT_EQ(eager != nullptr, out_of_order) << list << (eager != nullptr ? eager->detail : "");
    disordered += eager != nullptr ? 1 : 0;
    const Fact* faulty = mismatch(all[i].verdicts[1]);
    EXPECT_EQ(faulty != nullptr, !contains(choice, SdpaKernel::kFlash)) << list;
    ignored += faulty != nullptr ? 1 : 0;
  }
  EXPECT_GT(disordered, 0);
  EXPECT_GT(ignored, 0);
}

// Evidence of who accepts: flash comes first and does not take three dimensions, so math is right.
TEST(AttentionChoice, AKernelThatDoesNotAcceptIsPassedOver) {
  const SdpaChoice choice{{SdpaKernel::kCudnn, SdpaKernel::kFlash, SdpaKernel::kMath}, true};
  const Judged one = judged({attention(choice, false)}).front();
  EXPECT_EQ(mismatch(one.verdicts[0]), nullptr);
  const auto alone = std::ranges::count_if(one.evidence, [](const Evidence& e) {
    return e.request.test.environment.sdpa->kernels.size() == 1;
  });
  EXPECT_EQ(alone, 2);  // cuDNN and flash were tried alone
}

}  // namespace
}  // namespace ulpfuzz
