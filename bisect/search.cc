#include "bisect/search.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace ulpfuzz {
namespace {

class Halving {
 public:
  explicit Halving(const std::function<Answer(std::size_t)>& ask) : ask_(ask) {}

  Answer at(std::size_t place) {
    const auto known = search_.answers.find(place);
    if (known != search_.answers.end()) return known->second;
    return search_.answers[place] = ask_(place);
  }

  // The first testable place of [low, high], from either end or from the middle outwards.
  std::optional<std::size_t> testable(std::vector<std::size_t> places) {
    for (const std::size_t place : places) {
      if (at(place) != Answer::kUntestable) return place;
    }
    return std::nullopt;
  }

  Search search_;

 private:
  const std::function<Answer(std::size_t)>& ask_;
};

// [low, high], the middle first, then ever farther from it.
std::vector<std::size_t> from_middle(std::size_t low, std::size_t high) {
  std::vector<std::size_t> places;
  for (std::size_t i = low; i <= high; ++i) places.push_back(i);
  const auto middle = static_cast<std::ptrdiff_t>((low + high) / 2);
  std::ranges::stable_sort(places, {}, [middle](std::size_t place) {
    return std::abs(static_cast<std::ptrdiff_t>(place) - middle);
  });
  return places;
}

}  // namespace

Search find_change(std::size_t n, const std::function<Answer(std::size_t)>& ask) {
  Halving halving(ask);
  std::vector<std::size_t> up;
  for (std::size_t i = 0; i < n; ++i) up.push_back(i);
  const auto last = halving.testable({up.rbegin(), up.rend()});
  if (!last) return halving.search_;
  auto first = halving.testable(up);
  if (halving.at(*first) == halving.at(*last)) {
    halving.search_.throughout = halving.at(*last);
    return halving.search_;
  }
  std::size_t low = *first;
  std::size_t high = *last;
  while (high - low > 1) {
    const auto middle = halving.testable(from_middle(low + 1, high - 1));
    if (!middle) break;
    (halving.at(*middle) == halving.at(low) ? low : high) = *middle;
  }
  halving.search_.change = Change{low, high, halving.at(low) == Answer::kPasses};
  return halving.search_;
}

std::optional<Change> first_failing(const std::map<std::size_t, Answer>& answers) {
  std::optional<std::size_t> before;
  for (const auto& [place, answer] : answers) {
    if (answer == Answer::kPasses) before = place;
    if (answer != Answer::kFails) continue;
    if (!before) return std::nullopt;
    return Change{*before, place, true};
  }
  return std::nullopt;
}

}  // namespace ulpfuzz
