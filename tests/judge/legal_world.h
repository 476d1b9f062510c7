#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "judge/statistics.h"
#include "oracle/scalar.h"

// A tensor whose legal executions are drawn from a law that is known, so that what a correct system
// does is known too.
namespace ulpfuzz {

struct LegalWorld {
  std::int64_t rows = 32, columns = 32;
  double relative = 0.01;  // typical error of an element, relative to a typical element
  double common = 0.3;     // share of an element's variance that all executions have in common
  int runs = 16;
  std::mt19937_64 random{1};

  // One input set: exact values, the errors of its elements, and what legal executions show.
  struct Set {
    ExactTensor exact;
    std::vector<double> sd, shared;
    Spread legal;
  };

  double normal() { return normal_(random); }

  Set draw() {
    Set set;
    set.exact.name = "output 0";
    set.exact.type = {DType::kFloat32, {rows, columns}};
    const auto n = static_cast<std::size_t>(rows * columns);
    set.exact.bound.assign(n, 1e30);
    set.exact.marks.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = static_cast<double>(i / static_cast<std::size_t>(columns));
      set.exact.values.push_back(normal());
      // Rows of unlike errors, and elements of them.
      set.sd.push_back(relative * std::exp(std::sin(row) + 0.3 * normal()));
      set.shared.push_back(normal());
    }
    std::vector<std::vector<double>> all;
    for (int k = 0; k < runs; ++k) all.push_back(execution(set));
    set.legal = spread(all, set.exact);
    return set;
  }

  // Results of an execution whose errors are `times` those of a legal one.
  std::vector<double> execution(const Set& set, double times = 1) {
    std::vector<double> y = set.exact.values;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double own = std::sqrt(1 - common) * normal();
      y[i] += times * set.sd[i] * (std::sqrt(common) * set.shared[i] + own);
    }
    return y;
  }

  std::vector<Deviation> deviations_of(const Set& set, const std::vector<double>& y) const {
    return deviations(y, set.exact, set.legal);
  }

 private:
  std::normal_distribution<double> normal_;
};

inline double of(const std::vector<Deviation>& all, Statistic statistic) {
  return all.at(static_cast<std::size_t>(statistic)).value;
}

}  // namespace ulpfuzz
