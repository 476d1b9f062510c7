#include "fuzz/sightings.h"

#include <algorithm>

namespace ulpfuzz {
namespace {

constexpr int kLooksForRate = 20;    // at a case whose single looks disagree
constexpr int kLooksAtEvents = 3;    // at one whose finding may depend on chance
constexpr double kRarely = 1.0 / 8;  // candidates that raise: below, a pack is mostly whole

// How a run ended, or whether it repeats: what may differ from run to run.
bool may_be_flaky(VerdictKind kind) {
  return kind == VerdictKind::kCrash || kind == VerdictKind::kNondeterministic;
}

}  // namespace

Sightings::Sightings(Signature wanted, JudgeOptions options, const OpTable& table,
                     Scheduler& scheduler)
    : wanted_(std::move(wanted)),
      options_(std::move(options)),
      table_(table),
      scheduler_(scheduler),
      event_(wanted_.kind <= VerdictKind::kAcceptReject) {}

bool Sightings::shown(const Judged& judged) const {
  const auto found = std::ranges::find(judged.verdicts, wanted_.system, &Verdict::system);
  return found != judged.verdicts.end() && signature(*found) == wanted_;
}

Judged Sightings::look(const Case& c, Company company) const {
  return judge_cases({c}, options_, table_, scheduler_, company).front();
}

Sightings::Count Sightings::begin(const Case& c, const JudgeOptions& first) {
  Count count;
  const auto look_at = [&](Company company) {
    const bool seen = shown(judge_cases({c}, first, table_, scheduler_, company).front());
    count.seen += seen ? 1 : 0;
    ++count.looks;
    return seen;
  };
  company_ = event_ ? Company::kSingle : Company::kPacked;
  if (!look_at(company_)) {
    count = {};
    company_ = Company::kStock;  // it may be seen in a user's compilation only
    look_at(company_);
  }
  const int wanted = may_be_flaky(wanted_.kind) ? kLooksAtEvents : 1;
  while (count.looks < (count.seen == count.looks ? wanted : kLooksForRate)) {
    scheduler_.forget();
    look_at(company_);
  }
  if (count.flaky()) test_ = sequential_test(count.seen, count.looks, kError);
  return count;
}

// Candidates of an event share a compilation while few of them raise: a pack that raises is halved
// until each that does is alone.
std::vector<bool> Sightings::look_once(std::span<const Case> cases) {
  Company company = company_;
  if (company == Company::kSingle && wanted_.kind != VerdictKind::kHang && recent_ < kRarely) {
    company = Company::kPacked;
  }
  std::vector<bool> answers;
  for (const Judged& judged :
       judge_cases({cases.begin(), cases.end()}, options_, table_, scheduler_, company)) {
    answers.push_back(shown(judged));
  }
  const auto seen = static_cast<double>(std::ranges::count(answers, true));
  recent_ = (recent_ + seen / static_cast<double>(std::max<std::size_t>(1, cases.size()))) / 2;
  return answers;
}

std::vector<bool> Sightings::answer(std::span<const Case> cases) {
  if (!test_) return look_once(cases);
  std::vector<bool> answers(cases.size(), false);
  std::vector<int> seen(cases.size(), 0);
  std::vector<std::size_t> open(cases.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  for (int looks = 1; !open.empty(); ++looks) {
    scheduler_.forget();
    std::vector<Case> undecided;
    for (const std::size_t i : open) undecided.push_back(cases[i]);
    const std::vector<bool> shown = look_once(undecided);
    std::vector<std::size_t> still;
    for (std::size_t k = 0; k < open.size(); ++k) {
      seen[open[k]] += shown[k] ? 1 : 0;
      const auto decided = test_->answer(seen[open[k]], looks);
      if (decided == SequentialTest::Answer::kUndecided) still.push_back(open[k]);
      answers[open[k]] = decided == SequentialTest::Answer::kShown;
    }
    open = std::move(still);
  }
  return answers;
}

std::optional<Judged> Sightings::confirm(const Case& c) {
  int seen = 0;
  std::optional<Judged> found;
  for (int looks = 1;; ++looks) {
    if (test_) scheduler_.forget();
    Judged judged = look(c, Company::kStock);
    if (shown(judged)) {
      ++seen;
      found = std::move(judged);
    }
    if (!test_) return found;
    const auto decided = test_->answer(seen, looks);
    if (decided == SequentialTest::Answer::kUndecided) continue;
    return decided == SequentialTest::Answer::kShown ? found : std::nullopt;
  }
}

}  // namespace ulpfuzz
