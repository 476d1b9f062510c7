#include "cli/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

TEST(Time, ReadsSecondsMinutesAndHours) {
  EXPECT_EQ(parse_time("--time", "90"), 90);
  EXPECT_EQ(parse_time("--time", "120s"), 120);
  EXPECT_EQ(parse_time("--time", "1.5m"), 90);
  EXPECT_EQ(parse_time("--time", "8h"), 8 * 3600);
}

TEST(Time, ErrorsNameTheOption) {
  for (const char* text : {"", "s", "-5s", "0", "5d", "5 m", "nan", "inf", "1e999"}) {
    try {
      parse_time("--time", text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("--time"));
    }
  }
}

TEST(Time, DurationsReadNaturally) {
  EXPECT_EQ(duration(0.4), "0s");
  EXPECT_EQ(duration(59.6), "1m 00s");
  EXPECT_EQ(duration(125), "2m 05s");
  EXPECT_EQ(duration(2 * 3600 + 61), "2h 01m");
  EXPECT_EQ(duration(-3), "0s");
}

}  // namespace
}  // namespace ulpfuzz
