#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/investigate.h"
#include "reducers/sequential.h"

namespace ulpfuzz {

// Looks whether cases show one finding: the same signature of the same system. A finding that is
// seen on some runs only is looked for again and again, until Wald's test decides.
class Sightings {
 public:
  // `options`: what is needed to see the finding, of one system.
  Sightings(Signature wanted, JudgeOptions options, const OpTable& table, Scheduler& scheduler);

  // Does the verdict of the system say so?
  bool shown(const Judged& judged) const;

  // One look at one case.
  Judged look(const Case& c, Company company) const;

  // How the case as it came shows it: finds the cheapest company, and, where single looks disagree,
  // the rate. `first`: options of the first look, with the input sets that showed it.
  struct Count {
    int seen = 0, looks = 0;
    bool lost() const { return seen == 0; }
    bool flaky() const { return seen > 0 && seen < looks; }
  };
  Count begin(const Case& c, const JudgeOptions& first);

  // Which of these show it, in the company that begin() found.
  std::vector<bool> answer(std::span<const Case> cases);

  // Whether the last case of a reduction shows it on a run as a user's; of a flaky one by the test,
  // at the error rate kError.
  std::optional<Judged> confirm(const Case& c);

  Company company() const { return company_; }
  // From now on candidates run as a user's, each alone.
  void insist_on_stock() { company_ = Company::kStock; }
  static constexpr double kError = 0.01;  // of each decision on a flaky finding

 private:
  std::vector<bool> look_once(std::span<const Case> cases);

  Signature wanted_;
  JudgeOptions options_;
  const OpTable& table_;
  Scheduler& scheduler_;
  Company company_ = Company::kPacked;
  bool event_ = false;
  double recent_ = 0;                   // share of candidates that showed it, lately
  std::optional<SequentialTest> test_;  // of a flaky finding
};

}  // namespace ulpfuzz
