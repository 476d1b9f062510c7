#include "reducers/conditions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace ulpfuzz {
namespace {

// A statement on one case's dimensions; a case without them does not meet it.
struct Predicate {
  std::string text;
  double complexity;  // in the order in which a reader would rather see it
  std::function<bool(const OriginFields&)> holds;
};

const std::int64_t* integer(const OriginFields& values, const std::string& name) {
  const auto it = values.find(name);
  return it == values.end() ? nullptr : std::get_if<std::int64_t>(&it->second);
}

// All others as the case has them?
bool alone(const OriginFields& own, const OriginFields& other, const std::string& dimension) {
  for (const auto& [name, value] : own) {
    const auto it = other.find(name);
    if (name != dimension && (it == other.end() || it->second != value)) return false;
  }
  return true;
}

// value -> fails, of an integer dimension with all others kept.
std::map<std::int64_t, bool> line(const std::string& dimension, const OriginFields& own,
                                  const std::vector<Observation>& seen) {
  std::map<std::int64_t, bool> result;
  for (const Observation& o : seen) {
    const std::int64_t* value = integer(o.values, dimension);
    if (value != nullptr && alone(own, o.values, dimension)) result[*value] = o.fails;
  }
  return result;
}

Predicate unary(const std::string& name, std::string text, double complexity,
                std::function<bool(std::int64_t)> test) {
  return {std::move(text), complexity, [name, test = std::move(test)](const OriginFields& values) {
            const std::int64_t* value = integer(values, name);
            return value != nullptr && test(*value);
          }};
}

void integer_predicates(const std::string& name, const std::vector<Observation>& seen,
                        std::vector<Predicate>& out) {
  std::set<std::int64_t> failing;
  for (const Observation& o : seen) {
    const std::int64_t* value = integer(o.values, name);
    if (o.fails && value != nullptr) failing.insert(*value);
  }
  if (failing.empty()) return;
  const std::int64_t low = *failing.begin();
  const std::int64_t high = *failing.rbegin();
  out.push_back(
      unary(name, fmt::format("{} >= {}", name, low), 2, [low](auto v) { return v >= low; }));
  out.push_back(
      unary(name, fmt::format("{} <= {}", name, high), 2, [high](auto v) { return v <= high; }));
  if (low == high) {
    out.push_back(
        unary(name, fmt::format("{} == {}", name, low), 3, [low](auto v) { return v == low; }));
    return;  // one value has every residue
  }
  for (const std::int64_t m : {2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256}) {
    const std::int64_t r = low % m;
    out.push_back(unary(name, fmt::format("{} % {} == {}", name, m, r),
                        1.5 + 1e-3 * static_cast<double>(m),
                        [m, r](auto v) { return v % m == r; }));
    out.push_back(unary(name, fmt::format("{} % {} != 0", name, m),
                        1.75 + 1e-3 * static_cast<double>(m), [m](auto v) { return v % m != 0; }));
  }
}

void pair_predicates(const std::string& a, const std::string& b, std::vector<Predicate>& out) {
  const auto add = [&](const std::string& text, double complexity, auto test) {
    out.push_back({text, complexity, [a, b, test](const OriginFields& values) {
                     const std::int64_t* x = integer(values, a);
                     const std::int64_t* y = integer(values, b);
                     return x != nullptr && y != nullptr && test(*x, *y);
                   }});
  };
  add(fmt::format("{} < {}", a, b), 1.2, [](auto x, auto y) { return x < y; });
  add(fmt::format("{} < {}", b, a), 1.2, [](auto x, auto y) { return y < x; });
  add(fmt::format("{} != {}", a, b), 1.4, [](auto x, auto y) { return x != y; });
  add(fmt::format("{} == {}", a, b), 1.3, [](auto x, auto y) { return x == y; });
  add(fmt::format("{} <= {}", a, b), 1.6, [](auto x, auto y) { return x <= y; });
  add(fmt::format("{} <= {}", b, a), 1.6, [](auto x, auto y) { return y <= x; });
  add(fmt::format("{} % {} == 0", a, b), 1.7, [](auto x, auto y) { return y != 0 && x % y == 0; });
  add(fmt::format("{} % {} == 0", b, a), 1.7, [](auto x, auto y) { return x != 0 && y % x == 0; });
  add(fmt::format("{} % {} != 0", a, b), 1.7, [](auto x, auto y) { return y == 0 || x % y != 0; });
}

// Dimensions some value of which passes.
std::vector<std::string> sensitive(const OriginFields& own, const std::vector<Observation>& seen) {
  std::vector<std::string> names;
  for (const auto& dimension : own) {
    const std::string& name = dimension.first;
    if (std::ranges::any_of(
            seen, [&](const Observation& o) { return !o.fails && alone(own, o.values, name); })) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<Predicate> library(const OriginFields& own, const std::vector<Observation>& seen) {
  const std::vector<std::string> names = sensitive(own, seen);
  std::vector<Predicate> all;
  for (const std::string& name : names) {
    if (integer(own, name) != nullptr) {
      integer_predicates(name, seen, all);
      continue;
    }
    const ConfigValue value = own.at(name);
    all.push_back({fmt::format("{} is {}", name, to_text(value)), 1,
                   [name, value](const OriginFields& values) {
                     const auto it = values.find(name);
                     return it != values.end() && it->second == value;
                   }});
  }
  for (const std::string& name : names) {
    for (const auto& [other, value] : own) {
      const bool both = std::ranges::find(names, other) != names.end();
      if (other == name || (both && other < name) || other == "seed" || name == "seed") continue;
      if (integer(own, name) == nullptr || integer(own, other) == nullptr) continue;
      // A relation to a dimension that may have any value is none.
      if (both) pair_predicates(name, other, all);
    }
  }
  std::erase_if(all, [&](const Predicate& p) {
    return !std::ranges::all_of(
        seen, [&](const Observation& o) { return !o.fails || p.holds(o.values); });
  });
  return all;
}

std::vector<Neighbour> neighbours(const OriginFields& own, const std::vector<Observation>& seen) {
  std::vector<Neighbour> result;
  for (const auto& [name, value] : own) {
    std::optional<ConfigValue> nearest;
    for (const Observation& o : seen) {
      if (o.fails || !alone(own, o.values, name)) continue;
      const ConfigValue& other = o.values.at(name);
      const auto* now = std::get_if<std::int64_t>(&value);
      const auto* best = nearest ? std::get_if<std::int64_t>(&*nearest) : nullptr;
      const auto* here = std::get_if<std::int64_t>(&other);
      if (!nearest || (now != nullptr && best != nullptr && here != nullptr &&
                       std::abs(*here - *now) < std::abs(*best - *now))) {
        nearest = other;
      }
    }
    if (nearest) result.push_back({name, value, *nearest});
  }
  return result;
}

std::string list(const std::vector<std::string>& items) {
  if (items.size() < 2) return items.empty() ? "" : items.front();
  return fmt::format("{} and {}", fmt::join(items.begin(), items.end() - 1, ", "), items.back());
}

}  // namespace

std::string to_text(const ConfigValue& value) {
  if (const bool* on = std::get_if<bool>(&value)) return *on ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:g}", *real);
  return std::get<std::string>(value);
}

std::vector<ConfigValue> next_probes(const std::string& dimension, const OriginFields& own,
                                     const std::vector<Observation>& seen,
                                     const std::optional<ConfigValue>& least) {
  constexpr std::size_t kMostProbes = 24;  // of one dimension
  const std::int64_t* now = integer(own, dimension);
  if (now == nullptr) return {};
  const std::map<std::int64_t, bool> known = line(dimension, own, seen);
  const std::int64_t low = least ? std::get<std::int64_t>(*least) : 1;
  std::set<std::int64_t> wanted{*now - 1, *now + 1, 2 * *now, *now / 2, low};
  const bool differ = std::ranges::any_of(known, [](const auto& k) { return !k.second; });
  if (differ && known.size() < kMostProbes) {
    for (std::int64_t step = 2; step <= 128 && step <= std::max<std::int64_t>(8, 2 * *now);
         step *= 2) {
      wanted.insert(*now + step);
    }
    // Where one value passes and the next one known fails, the middle of the two.
    for (auto it = known.begin(); it != known.end() && std::next(it) != known.end(); ++it) {
      const std::int64_t next = std::next(it)->first;
      if (it->second != std::next(it)->second && next - it->first > 1) {
        wanted.insert(it->first + (next - it->first) / 2);
      }
    }
  }
  std::vector<ConfigValue> probes;
  for (const std::int64_t value : wanted) {
    if (value >= low && !known.contains(value) && value != *now) probes.emplace_back(value);
  }
  return probes;
}

Conditions fit_conditions(const OriginFields& own, const std::vector<Observation>& seen) {
  Conditions result;
  std::vector<const Observation*> open;
  for (const Observation& o : seen) {
    (o.fails ? result.failing : result.passing) += 1;
    if (!o.fails) open.push_back(&o);
  }
  const std::vector<std::string> names = sensitive(own, seen);
  for (const auto& dimension : own) {
    const std::string& name = dimension.first;
    const bool tried = std::ranges::any_of(seen, [&](const Observation& o) {
      return o.values.contains(name) && o.values.at(name) != dimension.second;
    });
    if (tried && std::ranges::find(names, name) == names.end()) result.any.push_back(name);
  }
  const std::vector<Predicate> all = library(own, seen);
  while (!open.empty()) {
    const Predicate* best = nullptr;
    double best_score = 0;
    for (const Predicate& p : all) {
      const auto broken =
          std::ranges::count_if(open, [&](const Observation* o) { return !p.holds(o->values); });
      const double score = static_cast<double>(broken) - 0.4 * p.complexity;
      if (broken > 0 && (best == nullptr || score > best_score)) {
        best = &p;
        best_score = score;
      }
    }
    if (best == nullptr) break;
    result.only_if.push_back(best->text);
    std::erase_if(open, [&](const Observation* o) { return !best->holds(o->values); });
  }
  result.unexplained = static_cast<int>(open.size());
  result.neighbours = neighbours(own, seen);
  return result;
}

std::string sentence(const Conditions& conditions) {
  if (conditions.failing + conditions.passing == 0) return "";
  std::string text = "fails";
  if (!conditions.any.empty()) text += " for any " + list(conditions.any);
  if (!conditions.only_if.empty()) {
    text += (conditions.any.empty() ? " only if " : ", only if ") + list(conditions.only_if);
  }
  text += fmt::format(" (of {} cases tried {} fail", conditions.failing + conditions.passing,
                      conditions.failing);
  if (conditions.unexplained > 0) {
    text += fmt::format("; {} that pass meet these conditions too", conditions.unexplained);
  }
  return text + ")";
}

}  // namespace ulpfuzz
