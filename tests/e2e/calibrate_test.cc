// The judge, measured by the real binary in a minute: no false alarm on legal executions, and
// planted faults found; and a calibration that must fail does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

// Proves: nothing but `less-accurate` is said against legal executions, real eager raises no alarm,
// every fault that changes a result by 3 % or more is found on its first input set, and the peers
// judge the same runs.
TEST(Calibrate, QuickOneHolds) {
  const Output output = ulpfuzz_run({"calibrate", "--quick", "--json"});
  const auto calibration = output.json();
  bool all_hold = true;
  for (const auto& requirement : calibration.at("requirements")) {
    all_hold = all_hold && requirement.at("holds").get<bool>();
  }
  EXPECT_EQ(output.status, all_hold ? 0 : 1) << output.err;
  int legal_runs = 0;
  for (const auto& population : calibration.at("legal")) {
    EXPECT_GT(population.at("runs"), 0);
    EXPECT_EQ(population.at("judges").size(), 5u);
    for (const auto& [judge, rate] : population.at("judges").items()) {
      EXPECT_EQ(rate.at("of"), population.at("runs")) << judge;
    }
    if (!population.at("synthetic")) continue;
    legal_runs += population.at("runs").get<int>();
    EXPECT_EQ(population.at("verdicts").at("wrong").at("count"), 0) << population.dump(1);
  }
  EXPECT_GE(legal_runs, 40);

  std::set<std::string> kinds;
  int large = 0, peers_found = 0;
  for (const auto& fault : calibration.at("faults")) {
    kinds.insert(fault.at("fault"));
    EXPECT_EQ(fault.at("large").at("count"), fault.at("large").at("of")) << fault.dump(1);
    large += fault.at("large").at("of").get<int>();
    for (const auto& [judge, rate] : fault.at("judges").items()) {
      EXPECT_EQ(rate.at("of"), fault.at("single").at("of")) << judge;
      if (judge != "ulpfuzz") peers_found += rate.at("count").get<int>();
    }
  }
  EXPECT_GE(kinds.size(), 24u);
  EXPECT_GE(large, 20);
  EXPECT_GT(peers_found, 0);
  EXPECT_GT(calibration.at("costs").at(0).at("judge_cpu_seconds"), 0);
}

// Proves: alarms that nobody has looked into fail a calibration, and come with their reduced
// program; a file that adjudicates them makes it hold.
TEST(Calibrate, UnknownAlarmsFail) {
  const std::vector<std::string> args{
      "calibrate", "--quick", "--only",  "real",     "--real-cases", "4",      "--systems",
      "eager@cpp", "--fault", "one-nan", "--budget", "5s",           "--json", "--adjudicated"};
  const Folder folder;
  write_text(folder / "none.json", "[]");
  auto unknown = args;
  unknown.push_back(folder / "none.json");
  const Output output = ulpfuzz_run(unknown);
  EXPECT_EQ(output.status, 1) << output.err;
  auto entries = nlohmann::json::array();
  std::set<std::string> seen;
  const auto calibration = output.json();
  for (const auto& population : calibration.at("legal")) {
    for (const auto& alarm : population.at("alarms")) {
      ASSERT_EQ(population.at("population"), "eager@cpp[fault=one-nan]");
      EXPECT_EQ(alarm.at("adjudged"), "");
      EXPECT_THAT(alarm.at("signature").get<std::string>(), HasSubstr("nan-mismatch"));
      if (!seen.insert(alarm.at("case")).second) continue;
      entries.push_back({{"system", "eager@cpp[fault=one-nan]"},
                         {"verdict", "nan-mismatch"},
                         {"sort", ""},
                         {"place", "output"},
                         {"case", alarm.at("case")},
                         {"adjudged", "real"},
                         {"why", "planted"}});
    }
  }
  ASSERT_FALSE(entries.empty());
  write_text(folder / "known.json", entries.dump());
  auto known = args;
  known.push_back(folder / "known.json");
  const Output again = ulpfuzz_run(known);
  EXPECT_EQ(again.status, 0) << again.out << again.err;
}

TEST(Calibrate, MistakesAreOneLine) {
  const Folder folder;
  write_text(folder / "bad.json", R"([{"system": "inductor"}])");
  const Output bad = ulpfuzz_run({"calibrate", "--quick", "--adjudicated", folder / "bad.json"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("bad.json#/0: lacks 'verdict'"));
  const Output no_fault = ulpfuzz_run({"calibrate", "--only", "no-such-fault"});
  EXPECT_EQ(no_fault.status, 2);
  EXPECT_THAT(no_fault.err, HasSubstr("'no-such-fault' is neither legal, real, faults or fit"));
}

}  // namespace
}  // namespace ulpfuzz
