#include "fuzz/kernel_choice.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/error.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

// Without priority a set is a set; with it every order is a choice of its own. On a GPU all four
// kernels can run: 15 sets, 64 orders.
TEST(KernelChoice, EverySetAndEveryOrder) {
  const std::vector<SdpaChoice> choices = sdpa_choices("cuda");
  EXPECT_EQ(std::ranges::count(choices, false, &SdpaChoice::set_priority), 15);
  EXPECT_EQ(std::ranges::count(choices, true, &SdpaChoice::set_priority), 64);
}

// On real torch: eager obeys each set; a system that makes no choice at all runs flash where flash
// is not in the set, and is seen.
TEST(KernelChoice, ASystemThatIgnoresTheChoiceIsSeen) {
  static Scheduler scheduler(op_table(), {.jobs = 1});
  const SystemSpec faulty = parse_system("eager@py[fault=ignores-sdpa-choice]");
  const std::vector<KernelChoiceRow> rows =
      try_kernel_choices(attention_call("cpu"), {faulty}, op_table(), scheduler);
  ASSERT_EQ(rows.size(), sdpa_choices("cpu").size());
  int seen = 0;
  for (const KernelChoiceRow& row : rows) {
    ASSERT_EQ(row.cells.size(), 2u);
    const KernelChoiceCell& eager = row.cells[0];
    ASSERT_TRUE(eager.completed) << eager.detail;
    ASSERT_EQ(eager.forward.size(), 1u);
    EXPECT_EQ(eager.backward, eager.forward);
    EXPECT_NE(std::ranges::find(row.choice.kernels, eager.forward[0]), row.choice.kernels.end());
    const bool has_flash =
        std::ranges::find(row.choice.kernels, SdpaKernel::kFlash) != row.choice.kernels.end();
    EXPECT_EQ(row.cells[1].verdict == VerdictKind::kKernelMismatch, !has_flash)
        << row.cells[1].detail;
    seen += has_flash ? 0 : 1;
  }
  EXPECT_GT(seen, 0);
}

TEST(KernelChoice, AProgramWithoutAttentionIsRefused) {
  Scheduler scheduler(op_table(), {.jobs = 1});
  Case c = attention_call("cpu");
  c.program.nodes[0].op = "aten.relu.default";
  EXPECT_THROW(try_kernel_choices(c, {}, op_table(), scheduler), Error);
}

}  // namespace
}  // namespace ulpfuzz
