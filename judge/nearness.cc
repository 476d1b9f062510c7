#include "judge/nearness.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

#include "judge/statistics.h"

namespace ulpfuzz {
namespace {

// What one system showed of one tensor, by input set.
struct Series {
  std::map<std::uint64_t, double> log_error;
  std::map<std::uint64_t, double> log_legal;  // ratio to legal executions, where it was tested
};
using Place = std::pair<std::string, std::string>;  // rung, tensor

Series series_of(const Verdict& verdict, const Place& place) {
  Series series;
  for (const TensorMeasure& m : verdict.measures) {
    if (m.rung != place.first || m.tensor != place.second || !m.has_error) continue;
    const double error = std::hypot(m.rms_error, m.rounding);
    if (!std::isfinite(error) || error <= 0) continue;
    series.log_error[m.input_set] = std::log(error);
    if (m.rms_ratio > 0) series.log_legal[m.input_set] = std::log(m.rms_ratio);
  }
  return series;
}

std::vector<Place> places_of(const std::vector<Verdict>& verdicts) {
  std::vector<Place> places;
  for (const Verdict& verdict : verdicts) {
    for (const TensorMeasure& m : verdict.measures) {
      const Place place{m.rung, m.tensor};
      if (std::ranges::find(places, place) == places.end()) places.push_back(place);
    }
  }
  return places;
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// The mean with an interval of `tail` on either side outside.
Interval mean_interval(const std::vector<double>& x, double tail) {
  const double middle = mean(x);
  double squares = 0;
  for (const double v : x) squares += (v - middle) * (v - middle);
  const double n = static_cast<double>(x.size());
  if (squares == 0) return {middle, middle, middle};
  const boost::math::students_t t(n - 1);
  const double half = quantile(complement(t, tail)) * std::sqrt(squares / (n - 1)) / std::sqrt(n);
  return {middle, middle - half, middle + half};
}

Membership membership(const std::vector<double>& log_ratios, const std::string& rung, double tail) {
  if (log_ratios.size() < 2) return Membership::kNotTested;
  const Interval ratio = mean_interval(log_ratios, tail);
  const double margin = allowance(Statistic::kDrift, rung).margin;
  if (ratio.high <= margin) return Membership::kInside;
  return ratio.low > margin ? Membership::kOutside : Membership::kUnsure;
}

// One tensor's comparison; `tail`: of each interval, on either side.
Nearness compare(const Place& place, const std::vector<Verdict>& verdicts, double tail) {
  Nearness result;
  result.rung = place.first, result.tensor = place.second;
  std::vector<Series> all;
  for (const Verdict& verdict : verdicts) all.push_back(series_of(verdict, place));
  std::vector<std::uint64_t> sets;
  for (const auto& entry : all.front().log_error) {
    const std::uint64_t set = entry.first;
    if (std::ranges::all_of(all, [set](const Series& s) { return s.log_error.contains(set); })) {
      sets.push_back(set);
    }
  }
  result.sets = static_cast<int>(sets.size());
  if (sets.size() < 2) return result;
  const auto difference = [&](const Series& a, const Series& b) {
    std::vector<double> d;
    for (const std::uint64_t set : sets) d.push_back(a.log_error.at(set) - b.log_error.at(set));
    return mean_interval(d, tail);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    Nearness::System system;
    system.name = verdicts[i].system;
    std::vector<double> errors, legal;
    for (const std::uint64_t set : sets) errors.push_back(all[i].log_error.at(set));
    for (const auto& [set, ratio] : all[i].log_legal) legal.push_back(ratio);
    const Interval ratio = difference(all[i], all.front());
    system.error = std::exp(mean(errors));
    system.to_eager = {std::exp(ratio.value), std::exp(ratio.low), std::exp(ratio.high)};
    system.to_legal = legal.empty() ? 0 : std::exp(mean(legal));
    system.freedom = membership(legal, place.first, tail);
    result.systems.push_back(system);
    bool nearest = all.size() > 1;
    for (std::size_t j = 0; j < all.size(); ++j) {
      nearest = nearest && (j == i || difference(all[i], all[j]).high < 0);
    }
    if (nearest) result.nearest = system.name;
  }
  return result;
}

}  // namespace

std::string_view name(Membership membership) {
  constexpr std::array<std::string_view, 4> kNames{"inside", "outside", "unsure", "-"};
  return kNames[static_cast<std::size_t>(membership)];
}

std::vector<Nearness> nearness(const std::vector<Verdict>& verdicts, double confidence) {
  std::vector<Nearness> result;
  if (verdicts.empty()) return result;
  const std::vector<Place> places = places_of(verdicts);
  const auto systems = static_cast<double>(verdicts.size());
  // Pairs of systems, and each system against its own freedom set.
  const double questions =
      static_cast<double>(places.size()) * (systems * (systems - 1) / 2 + systems);
  const double tail = (1 - confidence) / 2 / std::max(1.0, questions);
  for (const Place& place : places) {
    Nearness one = compare(place, verdicts, tail);
    if (one.sets >= 2) result.push_back(std::move(one));
  }
  return result;
}

}  // namespace ulpfuzz
