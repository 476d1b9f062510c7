// Campaigns: the same seed says the same, findings have their files, a kill loses nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <thread>

#include "fuzz/store.h"
#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

Output fuzz(const fs::path& store, const std::vector<std::string>& more) {
  std::vector<std::string> args{"fuzz", "--store", store.string(), "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return ulpfuzz_run(args);
}

TEST(Campaign, TheSameSeedGivesTheSameVerdictsAndFindings) {
  Folder folder;
  const Output first = fuzz(folder / "a", {"--cases", "12", "--seed", "5", "--budget", "3s"});
  const Output second = fuzz(folder / "b", {"--cases", "12", "--seed", "5", "--budget", "3s"});
  const auto a = first.json();
  const auto b = second.json();
  EXPECT_EQ(a.at("cases"), 12);
  EXPECT_EQ(a.at("verdicts"), b.at("verdicts"));
  EXPECT_EQ(first.status, second.status);
  EXPECT_EQ(first.status, a.at("findings").empty() ? 0 : 1);
  for (const auto& finding : a.at("findings")) {
    bool fit = true;
    std::set<std::string> outcomes;
    for (const auto& check : finding.at("checks")) {
      const std::string outcome = check.at("outcome");
      outcomes.insert(outcome);
      fit = fit && (!check.at("required") || outcome == "passed" || outcome == "does not apply");
    }
    EXPECT_EQ(finding.at("reportable"), fit) << finding.dump(1);
    EXPECT_FALSE(outcomes.empty());
    const fs::path at = finding.at("folder").get<std::string>();
    for (const char* file : {"case.json", "minimal.json", "repro.py", "report.md"}) {
      EXPECT_TRUE(fs::exists(at / file)) << at / file;
    }
  }
}

// Killed in the middle of its work, a campaign is gone on with where its last whole batch ended,
// and comes to what an undisturbed one comes to.
TEST(Campaign, KilledAndResumedEndsAsIfUndisturbed) {
  Folder folder;
  const fs::path store = folder / "store";
  const pid_t pid = ulpfuzz_start(
      {"fuzz", "--store", store.string(), "--json", "--seed", "8", "--systems", "eager@cpp"},
      folder / "log");
  // Until the store says that some cases were judged.
  std::int64_t judged = 0;
  while (judged == 0 && is_running(pid)) {
    std::this_thread::yield();
    if (!fs::exists(store / "store.sqlite")) continue;
    try {
      const auto last = Store(store).last_campaign();
      judged = last ? last->cases : 0;
    } catch (const std::exception&) {
      // being created
    }
  }
  ASSERT_GT(judged, 0) << "it ended by itself, with status " << wait_for(pid);
  kill(pid, SIGKILL);
  EXPECT_EQ(wait_for(pid), 128 + SIGKILL);
  const auto before = Store(store).last_campaign();
  ASSERT_TRUE(before);
  EXPECT_EQ(static_cast<std::int64_t>(before->next_index), before->cases);

  const Output resumed = fuzz(store, {"--resume", "--cases", "40"});
  ASSERT_NE(resumed.status, 2) << resumed.err;
  const auto after = Store(store).last_campaign();
  EXPECT_EQ(after->id, before->id);
  EXPECT_EQ(after->seed, 8u);
  EXPECT_EQ(after->systems, "eager@cpp");
  EXPECT_EQ(after->cases, before->cases + 40);
  EXPECT_EQ(static_cast<std::int64_t>(after->next_index), after->cases);

  const Output whole = fuzz(folder / "whole", {"--seed", "8", "--systems", "eager@cpp", "--cases",
                                               std::to_string(after->cases)});
  ASSERT_NE(whole.status, 2) << whole.err;
  EXPECT_EQ(Store(folder / "whole").last_campaign()->verdicts, after->verdicts);
}

TEST(Campaign, CtrlCEndsItCleanly) {
  Folder folder;
  const fs::path store = folder / "store";
  const pid_t pid = ulpfuzz_start(
      {"fuzz", "--store", store.string(), "--json", "--seed", "3", "--systems", "eager@cpp"},
      folder / "log");
  while (!fs::exists(store / "store.sqlite") && is_running(pid)) std::this_thread::yield();
  kill(pid, SIGINT);
  const int status = wait_for(pid);
  EXPECT_TRUE(status == 0 || status == 1) << status;
}

}  // namespace
}  // namespace ulpfuzz
