#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/table.h"
#include "oracle/scalar.h"
#include "report/reportable.h"
#include "tests/report/findings.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

TEST(ReportMd, ShowsExactEagerAndCompiledWithErrorsInUlps) {
  const std::string text = report_md(asinh_finding(47.7203F), op_table());
  EXPECT_THAT(text, HasSubstr("# inductor: wrong result, beyond what rounding explains\n"));
  EXPECT_THAT(text, HasSubstr("Element [0] of output 0 (float32[16]):"));
  EXPECT_THAT(text, HasSubstr("| exact | 47.62031778 | | |\n"));
  EXPECT_THAT(text, HasSubstr("| inductor | 47.7203 | 0.1 | 2.62e+04 |\n"));
  EXPECT_THAT(text, HasSubstr("Rounding explains an error of at most 1e-05 here."));
  EXPECT_THAT(text, HasSubstr("not fully reduced"));
}

TEST(ReportMd, QuotesTheExceptionAndTheVersions) {
  const std::string text = report_md(stride_assert_finding(), op_table());
  EXPECT_THAT(text, HasSubstr("y = torch.fft.rfft(x, dim=1)"));
  EXPECT_THAT(text, HasSubstr("inductor raises AssertionError in forward:\n\n```\nexpected size"));
  EXPECT_THAT(text, HasSubstr("- torch: 2.11.0\n"));
  EXPECT_THAT(text, HasSubstr("- compiled as `torch.compile(program)`\n"));
  EXPECT_THAT(text, HasSubstr("eager's own verdict: **agree**"));
}

TEST(ReportMd, SaysWhichKernelsWereAskedForAndRan) {
  Finding f = stride_assert_finding();
  f.signature.kind = VerdictKind::kKernelMismatch;
  f.minimal.environment.sdpa = SdpaChoice{{SdpaKernel::kFlash}, true};
  f.minimal.environment.primed_by = SdpaChoice{{SdpaKernel::kMath}, false};
  f.system_run.status = Run::Status::kCompleted;
  f.system_run.kernels = {{"aten::bmm", "forward", 2, {}}};
  const std::string text = report_md(f, op_table());
  EXPECT_THAT(text, HasSubstr("- asked for: `[SDPBackend.FLASH_ATTENTION]` in this order\n"));
  EXPECT_THAT(text, HasSubstr("- compiled before under: `[SDPBackend.MATH]`\n"));
  EXPECT_THAT(text, HasSubstr("- inductor ran: `aten::bmm` (forward, 2 times)\n"));
}

const Check& check_of(const Reportable& gate, std::string_view part) {
  for (const Check& check : gate.checks) {
    if (check.what.find(part) != std::string::npos) return check;
  }
  ADD_FAILURE() << "no check " << part;
  return gate.checks.front();
}

TEST(Reportable, SaysWhatWasNotTried) {
  const Reportable gate = reportable(asinh_finding(47.7203F), op_table());
  EXPECT_FALSE(gate.yes);
  EXPECT_EQ(check_of(gate, "default tolerances").outcome, Check::Outcome::kPassed);
  EXPECT_EQ(check_of(gate, "instruction set").outcome, Check::Outcome::kNotChecked);
  EXPECT_FALSE(check_of(gate, "magnitudes").required);  // 2.4e20
  EXPECT_EQ(check_of(gate, "magnitudes").outcome, Check::Outcome::kFailed);
  EXPECT_THAT(report_md(asinh_finding(47.7203F), op_table()),
              HasSubstr("| is seen at a second instruction set too | not checked: not tried |"));
}

TEST(Reportable, WantsEveryRequiredCheck) {
  Finding f = asinh_finding(47.7203F);
  f.looks = {{SecondLook::Of::kIsa, "avx2", true, "wrong"}};
  EXPECT_TRUE(reportable(f, op_table()).yes);
  EXPECT_THAT(report_md(f, op_table()), HasSubstr("Fit to be reported."));
  f.looks.push_back({SecondLook::Of::kRelease, "torch 2.15.0", false, "agree"});
  EXPECT_FALSE(reportable(f, op_table()).yes);
  EXPECT_THAT(report_md(f, op_table()), HasSubstr("failed: torch 2.15.0: agree |"));
}

// Proves: a second look is had where it is all that lacks, and nowhere else.
TEST(Reportable, ASecondLookIsWorthItWhereAllElsePassed) {
  Finding f = asinh_finding(47.7203F);
  EXPECT_TRUE(worth_a_second_look(f, op_table()));
  f.exact.tensors[0].marks[3] = kUndefined;
  EXPECT_FALSE(worth_a_second_look(f, op_table()));
  EXPECT_FALSE(worth_a_second_look(asinh_finding(47.62034F), op_table()));
}

// Half an ulp beyond what rounding explains is no bug to them.
TEST(Reportable, AnErrorWithinTheDefaultsIsNotReported) {
  Finding f = asinh_finding(47.62034F);
  f.looks = {{SecondLook::Of::kIsa, "avx2", true, "wrong"}};
  const Reportable gate = reportable(f, op_table());
  EXPECT_FALSE(gate.yes);
  EXPECT_THAT(check_of(gate, "default tolerances").detail,
              HasSubstr("output 0: 0 of 16 elements fail rtol 1.3e-06, atol 1e-05"));
}

TEST(Reportable, UndefinedValuesStandInTheWay) {
  Finding f = asinh_finding(47.7203F);
  f.looks = {{SecondLook::Of::kIsa, "avx2", true, "wrong"}};
  f.exact.tensors[0].marks[3] = kUndefined;
  EXPECT_FALSE(reportable(f, op_table()).yes);
  EXPECT_EQ(check_of(reportable(f, op_table()), "undefined").outcome, Check::Outcome::kFailed);
}

TEST(ReportMd, HasTheProjectsOwnHeadings) {
  Finding f = stride_assert_finding();
  const std::string torch = report_md(f, op_table());
  for (const char* heading : {"### 🐛 Describe the bug\n", "### Error logs\n", "### Versions\n"}) {
    EXPECT_THAT(torch, HasSubstr(heading));
  }
  EXPECT_THAT(torch, HasSubstr("def run(f):"));
  f.signature.system = f.verdict.system = "thunder";
  const std::string thunder = report_md(f, op_table());
  for (const char* heading : {"## 🐛 Bug\n", "### To Reproduce\n", "#### Code sample\n",
                              "### Expected behavior\n", "### Environment\n"}) {
    EXPECT_THAT(thunder, HasSubstr(heading));
  }
}

// A message cannot break out of its block.
TEST(ReportMd, FencesTextThatHoldsFences) {
  Finding f = stride_assert_finding();
  f.system_run.exception_message = "```\n# not a heading\n```";
  EXPECT_THAT(report_md(f, op_table()), HasSubstr("````\n```\n# not a heading\n```\n````\n"));
}

}  // namespace
}  // namespace ulpfuzz
