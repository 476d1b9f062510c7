#include "judge/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/e_process.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

std::size_t index(Statistic statistic) { return static_cast<std::size_t>(statistic); }

// The least mean of e_value[at] and any of the others: the smallest others, as long as they lower
// it.
double among_all(const std::vector<Weighed>& all, std::size_t at) {
  std::vector<double> others;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != at) others.push_back(all[i].e_value);
  }
  std::ranges::sort(others);
  double sum = all[at].e_value, count = 1;
  for (const double e : others) {
    if (e >= sum / count) break;
    sum += e;
    ++count;
  }
  return sum / count;
}

// Of several sets, the geometric mean of what is in log units, the mean of what is not.
double mean_of(const Observed& observed, const Suspect& suspect) {
  const auto seen = observed.find(suspect.tensor);
  if (seen == observed.end() || seen->second.empty()) return -INFINITY;
  double sum = 0, sets = 0;
  for (const auto& [set, all] : seen->second) {
    if (index(suspect.statistic) >= all.size()) continue;  // does not apply
    sum += excess(suspect.statistic, all[index(suspect.statistic)].value);
    ++sets;
  }
  return sets == 0 ? -INFINITY : sum / sets;
}

// Mean log RMS error of a tensor over that of legal executions, whether above or below.
double mean_drift(const Observed& observed, const std::string& tensor) {
  const auto seen = observed.find(tensor);
  if (seen == observed.end() || seen->second.empty()) return -INFINITY;
  double sum = 0;
  for (const auto& [set, all] : seen->second) sum += all.at(index(Statistic::kDrift)).value;
  return sum / static_cast<double>(seen->second.size());
}

bool eager_is_near(const Weighed& w, const Observed& eager, double log_ratio) {
  const double mean = mean_of(eager, w.suspect);
  if (w.suspect.statistic != Statistic::kScale) return mean > w.mean - log_ratio;
  return std::isfinite(mean) && mean * w.mean > 0 &&
         std::abs(mean) > std::abs(w.mean) * std::exp(-log_ratio);
}

std::string detail_of(const Weighed& w, double margin) {
  std::string what;
  switch (w.suspect.statistic) {
    case Statistic::kElement:
      what = fmt::format(
          "the largest error, each measured by that of its element in legal executions, is {:.3g} "
          "times that of a legal execution (allowed: {:.3g})",
          std::exp(w.mean), std::exp(margin));
      break;
    case Statistic::kDrift:
      what =
          fmt::format("the RMS error is {:.3g} times that of a legal execution (allowed: {:.3g})",
                      std::exp(w.mean), std::exp(margin));
      break;
    case Statistic::kScale:
      what = fmt::format(
          "values are too {}, {:.3g} standard deviations of a legal execution on each set "
          "(allowed: "
          "{:.3g})",
          w.mean > 0 ? "large" : "small", std::abs(w.mean), margin);
      break;
    case Statistic::kApart:
      what = fmt::format(
          "results lie {:.3g} times as far from eager's as two executions that round every "
          "intermediate lie from each other (allowed: {:.3g}), and no nearer to exact ones",
          std::exp(w.mean), std::exp(margin));
  }
  return fmt::format("{}: over {} fresh input sets {}; false with a probability of at most {:.1g}",
                     w.suspect.tensor, w.sets, what, std::max(1 / w.among_all, 1e-30));
}

}  // namespace

void merge(Observed& into, const Observed& more) {
  for (const auto& [tensor, sets] : more) into[tensor].insert(sets.begin(), sets.end());
}

ClaimTest::ClaimTest(VerdictKind kind, std::string rung, const Observed& first)
    : kind_(kind), rung_(std::move(rung)) {
  for (const auto& [tensor, seen] : first) {
    for (const Statistic statistic : kStatistics) {
      // The scale of values that are a thousandfold off is nothing that `wrong` is told by.
      if (kind == VerdictKind::kWrong && statistic == Statistic::kScale) continue;
      if (const auto chosen = choose(tensor, statistic, seen)) suspects_.push_back(*chosen);
    }
    if (kind == VerdictKind::kWrong) continue;
    if (const auto chosen = choose(tensor, Statistic::kApart, seen)) suspects_.push_back(*chosen);
  }
}

model::Allowance ClaimTest::allowed(Statistic statistic) const {
  model::Allowance allowed = allowance(statistic, rung_);
  if (kind_ == VerdictKind::kWrong) allowed.margin = model::kWrongMargin;
  return allowed;
}

std::optional<ClaimTest::Chosen> ClaimTest::choose(
    const std::string& tensor, Statistic statistic,
    const std::map<std::uint64_t, std::vector<Deviation>>& seen) const {
  Chosen chosen{{tensor, statistic}};
  double sum = 0;
  for (const auto& [set, all] : seen) {
    if (index(statistic) >= all.size()) continue;
    const Deviation& d = all[index(statistic)];
    if (std::isnan(d.value)) continue;
    sum += excess(statistic, d.value);
    chosen.squares += d.null_sd * d.null_sd;
    ++chosen.sets;
  }
  if (chosen.sets == 0) return std::nullopt;
  const double mean = sum / chosen.sets;
  const double far = statistic == Statistic::kScale ? std::abs(mean) : mean;
  const auto [margin, misfit] = allowed(statistic);
  const double deviation = std::sqrt(chosen.squares / chosen.sets + misfit * misfit);
  const double excess = (far - margin) / (deviation / std::sqrt(chosen.sets));
  return excess > model::kScreen ? std::optional(chosen) : std::nullopt;
}

std::vector<std::string> ClaimTest::tensors() const {
  std::vector<std::string> all;
  for (const Chosen& chosen : suspects_) {
    if (all.empty() || all.back() != chosen.suspect.tensor) all.push_back(chosen.suspect.tensor);
  }
  return all;
}

void ClaimTest::leave_out(const std::string& tensor) {
  std::erase_if(suspects_, [&](const Chosen& chosen) { return chosen.suspect.tensor == tensor; });
}

Weighed ClaimTest::weigh(const Chosen& chosen, const Observed& fresh) const {
  Weighed weighed{chosen.suspect};
  const auto seen = fresh.find(chosen.suspect.tensor);
  if (seen == fresh.end()) return weighed;
  const auto [margin, misfit] = allowed(chosen.suspect.statistic);
  double squares = chosen.squares;
  EProcess above, below;
  for (const auto& [set, all] : seen->second) {
    if (index(chosen.suspect.statistic) >= all.size()) continue;
    const Deviation& d = all[index(chosen.suspect.statistic)];
    squares += d.null_sd * d.null_sd;
    ++weighed.sets;
    const double deviation = std::sqrt(squares / (chosen.sets + weighed.sets) + misfit * misfit);
    const double value = excess(chosen.suspect.statistic, d.value);
    above.add((value - margin) / deviation);
    below.add((-value - margin) / deviation);
    weighed.mean += value;
  }
  weighed.mean /= std::max(weighed.sets, 1);
  const bool both = chosen.suspect.statistic == Statistic::kScale;
  weighed.e_value = both ? (above.value() + below.value()) / 2 : above.value();
  return weighed;
}

std::vector<Weighed> ClaimTest::weigh(const Observed& fresh) const {
  std::vector<Weighed> all;
  for (const Chosen& chosen : suspects_) all.push_back(weigh(chosen, fresh));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].among_all = among_all(all, i);
  return all;
}

std::vector<Weighed> ClaimTest::established(const std::vector<Weighed>& all) {
  std::vector<Weighed> some;
  for (const Weighed& w : all) {
    if (w.among_all >= 1 / model::kClaimError) some.push_back(w);
  }
  return some;
}

bool ClaimTest::open(const std::vector<Weighed>& all) {
  if (!established(all).empty()) return false;
  return std::ranges::any_of(all, [](const Weighed& w) { return w.e_value >= model::kHopeless; });
}

std::vector<Fact> claims(const ClaimTest& test, const Observed& fresh, const Observed& eager,
                         const std::string& rung, bool above) {
  std::vector<Weighed> best;  // of each tensor
  for (const Weighed& w : ClaimTest::established(test.weigh(fresh))) {
    const bool wrong = test.kind() == VerdictKind::kWrong;
    if (wrong && eager_is_near(w, eager, model::kEagerNearWrong)) continue;
    if (!wrong && above && eager_is_near(w, eager, model::kEagerNear)) continue;
    // Apart from eager, but nearer to the exact values: no loss.
    const std::string& tensor = w.suspect.tensor;
    const bool nearer = mean_drift(fresh, tensor) <= mean_drift(eager, tensor);
    if (w.suspect.statistic == Statistic::kApart && nearer) continue;
    if (best.empty() || best.back().suspect.tensor != w.suspect.tensor) {
      best.push_back(w);
    } else if (w.among_all > best.back().among_all) {
      best.back() = w;
    }
  }
  std::vector<Fact> facts;
  for (const Weighed& w : best) {
    Fact fact;
    fact.kind = test.kind();
    fact.tensor = w.suspect.tensor;
    fact.rung = rung;
    fact.strength = "statistical";
    fact.statistic = w.suspect.statistic == Statistic::kScale ? w.mean : std::exp(w.mean);
    fact.e_value = w.among_all;
    fact.detail = detail_of(w, test.allowed(w.suspect.statistic).margin);
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace ulpfuzz
