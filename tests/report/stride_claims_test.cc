#include "report/stride_claims.h"

#include <gtest/gtest.h>

namespace ulpfuzz {
namespace {

// Proves: the message of a gradient that lies b s h d in memory is read dimension by dimension.
TEST(StrideClaims, ReadsInductorsMessage) {
  const auto claims = stride_claims(
      "expected size 32==32, stride 96==393216 at dim=1; expected size 4096==4096, stride 3072==96 "
      "at dim=2\nError in op: torch.ops.aten.any");
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].dim, 1);
  EXPECT_EQ(claims[0].size_found, 32);
  EXPECT_EQ(claims[0].stride_found, 96);
  EXPECT_EQ(claims[0].stride_expected, 393216);
  EXPECT_EQ(claims[1].dim, 2);
  EXPECT_EQ(claims[1].size_expected, 4096);
  EXPECT_EQ(claims[1].stride_found, 3072);
  EXPECT_EQ(claims[1].stride_expected, 96);
}

TEST(StrideClaims, OtherMessagesSayNothing) {
  EXPECT_TRUE(stride_claims("expected size 4, got 5").empty());
  EXPECT_TRUE(stride_claims("").empty());
}

}  // namespace
}  // namespace ulpfuzz
