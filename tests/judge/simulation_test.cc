// The tests behind claims, simulated: false claims of systems at the very edge of what is allowed,
// and the power to find planted faults (docs/judge.md, "Checked by simulation").
// ULPFUZZ_SIMULATIONS sets how many tests are simulated (default: 200).
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "judge/claims.h"
#include "tests/judge/legal_world.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

const std::string kRung = "bfloat16";

int simulations() {
  const char* given = std::getenv("ULPFUZZ_SIMULATIONS");
  return given == nullptr ? 200 : std::max(1, std::atoi(given));
}

// The most hits of `n` that a rate of `rate` exceeds with a probability below 1e-4.
int most_hits(int n, double rate) {
  const boost::math::binomial_distribution<double> law(n, rate);
  int k = static_cast<int>(n * rate);
  while (cdf(law, k) < 1 - 1e-4) ++k;
  return k;
}

LegalWorld small_world(unsigned seed) {
  LegalWorld world;
  world.rows = 12, world.columns = 12, world.runs = 8;
  world.random.seed(seed);
  return world;
}

// Results of a system on an input set.
using System = std::function<std::vector<double>(LegalWorld&, const LegalWorld::Set&)>;

struct Outcome {
  bool claimed = false;     // as the judge does: rounds of sets until the test is no longer open
  bool reached_20 = false;  // after any of 32 sets
};

// A test that has begun: `statistic` was suspected on a first look that says nothing else.
Outcome test(LegalWorld& world, Statistic statistic, const System& system) {
  Observed first;
  std::vector<Deviation> seen;
  {
    const LegalWorld::Set set = world.draw();
    for (Deviation d : world.deviations_of(set, set.exact.values)) {
      d.value = seen.size() == static_cast<std::size_t>(statistic) ? 1e6 : 0;
      seen.push_back(d);
    }
  }
  first["output 0"][0] = seen;
  const ClaimTest claim(VerdictKind::kLessAccurate, kRung, first);
  Outcome outcome;
  Observed fresh;
  bool open = true;
  int sets = 0;
  for (const int round : model::kFreshSets) {
    for (; sets < round; ++sets) {
      const LegalWorld::Set set = world.draw();
      fresh["output 0"][static_cast<std::uint64_t>(sets) + 1] =
          world.deviations_of(set, system(world, set));
      outcome.reached_20 |= claim.weigh(fresh)[0].e_value >= 20;
    }
    const auto weighed = claim.weigh(fresh);
    outcome.claimed |= open && !ClaimTest::established(weighed).empty();
    open = open && ClaimTest::open(weighed);
  }
  return outcome;
}

// A system whose statistic lies `beyond` deviations over the margin, as a mean over input sets,
// and varies by the misfit about that.
System at_edge(Statistic statistic, double beyond) {
  return [=](LegalWorld& world, const LegalWorld::Set& set) {
    const auto [margin, misfit] = allowance(statistic, kRung);
    const double at = margin + misfit * (world.normal() + beyond);
    if (statistic != Statistic::kScale) return world.execution(set, std::exp(at));
    std::vector<double> y = world.execution(set);
    double signal = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double e = set.exact.values[i] / set.legal.scale[i];
      signal += e * e;
    }
    const double bias = at * set.legal.unit_scale / std::sqrt(signal);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias * set.exact.values[i];
    return y;
  };
}

// Systems at the edge: at most 5 % ever show evidence of 20, and 1e-4 are claimed. A system two
// misfits beyond is claimed nearly always: the limits can be broken.
TEST(Simulation, FalseClaimsAtTheEdgeOfTheMargin) {
  for (const Statistic statistic : kStatistics) {
    LegalWorld world = small_world(11);
    const int n = simulations();
    int claimed = 0, reached = 0, beyond = 0;
    for (int i = 0; i < n; ++i) {
      const Outcome outcome = test(world, statistic, at_edge(statistic, 0));
      claimed += outcome.claimed, reached += outcome.reached_20;
    }
    for (int i = 0; i < n / 10; ++i) {
      beyond += test(world, statistic, at_edge(statistic, 3)).claimed;
    }
    std::printf("%s: of %d at the edge %d claimed, %d reached 20; of %d beyond %d claimed\n",
                std::string(name(statistic)).c_str(), n, claimed, reached, n / 10, beyond);
    EXPECT_LE(claimed, most_hits(n, model::kClaimError)) << name(statistic);
    EXPECT_LE(reached, most_hits(n, 0.05)) << name(statistic);
    EXPECT_GE(beyond, n / 10 * 9 / 10) << name(statistic);
  }
}

// The whole way, screening included, on 32 input sets: how often a fault is claimed.
int found(const System& system, int trials) {
  int claimed = 0;
  for (int i = 0; i < trials; ++i) {
    LegalWorld world = small_world(100 + static_cast<unsigned>(i));
    world.rows = world.columns = 32, world.runs = 4, world.relative = 0.004;
    Observed seen[2];
    for (int t = 0; t < 64; ++t) {
      const LegalWorld::Set set = world.draw();
      seen[t / 32]["output 0"][static_cast<std::uint64_t>(t)] =
          world.deviations_of(set, system(world, set));
    }
    const ClaimTest claim(VerdictKind::kLessAccurate, kRung, seen[0]);
    claimed += claim.begun() && !ClaimTest::established(claim.weigh(seen[1])).empty();
  }
  return claimed;
}

System scaled(double factor) {
  return [=](LegalWorld& world, const LegalWorld::Set& set) {
    std::vector<double> y = world.execution(set);
    for (double& v : y) v *= factor;
    return y;
  };
}

// Errors of about 0.4 % of an element, as of a rounding to bfloat16; 1024 elements. The control is
// a legal execution.
TEST(Simulation, PowerOver32InputSets) {
  const int trials = std::max(10, simulations() / 20);
  const auto one_element = [](LegalWorld& world, const LegalWorld::Set& set) {
    std::vector<double> y = world.execution(set);
    y[500] = set.exact.values[500] + 30 * set.sd[500];
    return y;
  };
  // 4 times lies 0.73 deviations of what is allowed beyond the margin. On each of 32 sets that is
  // evidence of e^9.6, and a claim needs e^9.2: it is at the limit, 5 times is the least beyond it.
  const auto drift = [](LegalWorld& world, const LegalWorld::Set& set) {
    return world.execution(set, 5);
  };
  const struct {
    const char* fault;
    System system;
    bool is_found;
  } kFaults[] = {{"one element, 30 times its error", one_element, true},
                 {"errors 5 times as large", drift, true},
                 {"values 1 % too large", scaled(1.01), true},
                 {"values 0.3 % too large", scaled(1.003), true},
                 {"values 0.3 % too small", scaled(0.997), true},
                 {"none", scaled(1), false}};
  for (const auto& [fault, system, is_found] : kFaults) {
    const int hits = found(system, trials);
    std::printf("%s: %d of %d claimed\n", fault, hits, trials);
    if (is_found) {
      EXPECT_GE(hits, trials * 9 / 10) << fault;
    } else {
      EXPECT_EQ(hits, 0) << fault;
    }
  }
}

}  // namespace
}  // namespace ulpfuzz
