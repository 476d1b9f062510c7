#include <gtest/gtest.h>

#include "report/report.h"

namespace ulpfuzz {
namespace {

TEST(Junit, CountsFailuresAndEscapesText) {
  const std::vector<ReplayResult> results{
      {"fine.json", true, "inductor: agree", "inductor: agree", 1.5, ""},
      {"broken.json", false, "inductor: agree", "inductor: wrong", 0.25, "a < b & \"c\"\x01"}};
  EXPECT_EQ(junit_xml(results), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="ulpfuzz replay" tests="2" failures="1" time="1.750">
  <testcase classname="ulpfuzz" name="fine.json" time="1.500"/>
  <testcase classname="ulpfuzz" name="broken.json" time="0.250">
    <failure message="expected inductor: agree, found inductor: wrong">a &lt; b &amp; &quot;c&quot;?</failure>
  </testcase>
</testsuite>
)");
}

}  // namespace
}  // namespace ulpfuzz
