#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/table.h"
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

// A message cannot break out of its block.
TEST(ReportMd, FencesTextThatHoldsFences) {
  Finding f = stride_assert_finding();
  f.system_run.exception_message = "```\n# not a heading\n```";
  EXPECT_THAT(report_md(f, op_table()), HasSubstr("````\n```\n# not a heading\n```\n````\n"));
}

}  // namespace
}  // namespace ulpfuzz
