// Counting, and what must hold of the counts.
#include "calibration/count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/peers.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

Trial trial(VerdictKind kind, bool peers_object = false) {
  Trial t;
  t.verdict.primary = kind;
  t.peers.assign(peer_judges().size(), peers_object);
  return t;
}

LegalResult synthetic(const std::vector<Trial>& runs) {
  LegalCount count;
  std::vector<const Trial*> all;
  for (const Trial& t : runs) all.push_back(&t);
  count.add(all);
  return count.result("synthetic eager", "op graphs", true);
}

bool holds(const Calibration& c, const std::string& what) {
  for (const Requirement& r : requirements(c)) {
    if (r.what.find(what) != std::string::npos) return r.holds;
  }
  ADD_FAILURE() << "nothing is required of: " << what;
  return false;
}

// Proves: each run is counted once, a case with several findings once, and judges apart.
TEST(Count, OfLegalRuns) {
  LegalCount count;
  const Trial agree = trial(VerdictKind::kAgree), wrong = trial(VerdictKind::kWrong),
              undecided = trial(VerdictKind::kUndecided, true);
  count.add({&agree, &wrong, &wrong});
  count.add({&agree, &undecided});
  const LegalResult r = count.result("p", "w", true);
  EXPECT_EQ(r.runs, 5);
  EXPECT_EQ(r.cases.count, 1);
  EXPECT_EQ(r.cases.of, 2);
  EXPECT_EQ(r.verdicts.at(VerdictKind::kWrong).count, 2);
  EXPECT_EQ(r.verdicts.at(VerdictKind::kUndecided).count, 1);
  EXPECT_EQ(r.verdicts.at(VerdictKind::kLessAccurate).count, 0);
  EXPECT_EQ(r.verdicts.at(VerdictKind::kLessAccurate).of, 5);
  ASSERT_EQ(r.judges.size(), 1 + peer_judges().size());
  EXPECT_EQ(r.judges[0].judge, "ulpfuzz");
  EXPECT_EQ(r.judges[0].alarms.count, 2);
  for (std::size_t i = 1; i < r.judges.size(); ++i) EXPECT_EQ(r.judges[i].alarms.count, 1);
}

TEST(Count, OfFaults) {
  FaultCount count;
  count.add_without_effect();
  count.add(trial(VerdictKind::kWrong, true), true);
  count.add(trial(VerdictKind::kAgree), false);
  count.add(trial(VerdictKind::kAgree), true);
  count.add(FaultResult::Miss{"a", 0.01, true, false});
  count.add(FaultResult::Miss{"b", 0.1, false, true});
  const FaultResult r = count.result("f", "eager@py", "op graphs");
  EXPECT_EQ(r.cases, 4);
  EXPECT_EQ(r.without_effect, 1);
  EXPECT_EQ(r.single.count, 1);
  EXPECT_EQ(r.single.of, 3);
  EXPECT_EQ(r.within.count, 2);
  EXPECT_EQ(r.within.of, 3);
  EXPECT_EQ(r.large.count, 1);
  EXPECT_EQ(r.large.of, 2);
  EXPECT_EQ(r.misses.size(), 2u);
}

// Proves: one wrong verdict against a legal execution is one too many; a rate breaks its limit only
// where its interval says so.
TEST(Requirements, OfLegalExecutions) {
  Calibration c;
  std::vector<Trial> runs(200, trial(VerdictKind::kReordered));
  c.legal = {synthetic(runs)};
  for (const Requirement& r : requirements(c)) EXPECT_TRUE(r.holds) << r.what;
  runs[0] = trial(VerdictKind::kLessAccurate);
  c.legal = {synthetic(runs)};
  EXPECT_TRUE(holds(c, "at most 0.1 %"));  // 1 of 200 may be chance
  for (int i = 1; i < 5; ++i) runs[static_cast<std::size_t>(i)] = runs[0];
  c.legal = {synthetic(runs)};
  EXPECT_FALSE(holds(c, "at most 0.1 %"));
  EXPECT_TRUE(holds(c, "no legal execution"));
  runs[0] = trial(VerdictKind::kMetadata);
  c.legal = {synthetic(runs)};
  EXPECT_FALSE(holds(c, "no legal execution"));
  for (int i = 0; i < 12; ++i) runs[static_cast<std::size_t>(i)] = trial(VerdictKind::kUndecided);
  c.legal = {synthetic(runs)};
  EXPECT_FALSE(holds(c, "at most 2 %"));
}

TEST(Requirements, OfRealSystems) {
  Calibration c;
  LegalCount count;
  const Trial wrong = trial(VerdictKind::kWrong);
  count.add({&wrong});
  count.add(LegalResult::Alarm{"inductor: wrong", "h", "output", "", "real", {}});
  c.legal = {count.result("inductor", "op graphs", false)};
  EXPECT_TRUE(holds(c, "looked into every alarm"));
  count.add(LegalResult::Alarm{"inductor: wrong", "g", "output", "", "", {}});
  c.legal = {count.result("inductor", "op graphs", false)};
  EXPECT_FALSE(holds(c, "looked into every alarm"));
}

TEST(Requirements, OfFaults) {
  Calibration c;
  c.fault_seeds = 32;
  FaultCount found, missed;
  found.add(trial(VerdictKind::kWrong), true);
  c.faults = {found.result("f", "eager@py", "op graphs")};
  EXPECT_TRUE(holds(c, "3 % or more"));
  EXPECT_TRUE(holds(c, "every kind"));
  missed.add(trial(VerdictKind::kAgree), false);
  missed.add(FaultResult::Miss{"a", 0.01, false, false});
  c.faults.push_back(missed.result("g", "eager@py", "op graphs"));
  EXPECT_TRUE(holds(c, "3 % or more"));
  EXPECT_FALSE(holds(c, "every kind"));
  // Found elsewhere.
  c.faults.push_back(found.result("g", "eager@py", "float32 models"));
  EXPECT_TRUE(holds(c, "every kind"));
  missed.add(trial(VerdictKind::kAgree), true);
  c.faults.push_back(missed.result("g", "inductor", "op graphs"));
  EXPECT_FALSE(holds(c, "3 % or more"));
}

// Proves: the tables have a line for each population and fault, and say where a person must look.
TEST(Tables, NameEverything) {
  Calibration c;
  c.legal = {synthetic({trial(VerdictKind::kAgree)})};
  LegalCount count;
  const Trial wrong = trial(VerdictKind::kWrong);
  count.add({&wrong});
  count.add(LegalResult::Alarm{"inductor: wrong", "0123456789abcdef", "output", "a|b", "", {"op"}});
  c.legal.push_back(count.result("inductor", "float32 models", false));
  FaultCount fault;
  fault.add(trial(VerdictKind::kWrong), true);
  c.faults = {fault.result("attn-scale=1.1", "eager@py", "float32 models")};
  const std::string text = tables(c);
  EXPECT_THAT(text, HasSubstr("| synthetic eager | op graphs | 1 |"));
  EXPECT_THAT(text, HasSubstr("| inductor: wrong | output | op | ? | 0123456789ab | a/b |"));
  EXPECT_THAT(text, HasSubstr("| attn-scale=1.1 |"));
  EXPECT_THAT(text, HasSubstr("**no**"));
}

}  // namespace
}  // namespace ulpfuzz
