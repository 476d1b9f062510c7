#include "judge/tolerance.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "judge/model.h"
#include "judge/parallel.h"
#include "judge/rung.h"
#include "oracle/oracle.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

// Values of rtol that are tried, in units of the narrowest dtype's roundoff.
constexpr std::array<double, 7> kRelative{0, 1, 4, 16, 64, 256, 1024};
constexpr double kThreshold = 0.9;  // quantile above which the tail is fitted

// What the pairs of executions of one tensor need.
struct Sample {
  // By index into kRelative: the atol that lets each pair pass.
  std::array<std::vector<double>, kRelative.size()> needed;
  std::int64_t fail_usual = 0;
  std::int64_t pairs = 0;
  double mean_size = 0;  // of |expected| over elements and pairs, summed

  void merge(const Sample& other) {
    for (std::size_t r = 0; r < needed.size(); ++r) {
      needed[r].insert(needed[r].end(), other.needed[r].begin(), other.needed[r].end());
    }
    fail_usual += other.fail_usual;
    pairs += other.pairs;
    mean_size += other.mean_size;
  }
};

void include(Sample& sample, const std::vector<double>& actual, const std::vector<double>& expected,
             const Allowance& usual, double unit) {
  std::array<double, kRelative.size()> needed{};
  double sizes = 0;
  bool fails = false;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double size = std::abs(expected[i]), difference = std::abs(actual[i] - expected[i]);
    if (!std::isfinite(difference)) continue;
    sizes += size;
    fails = fails || difference > usual.atol + usual.rtol * size;
    for (std::size_t r = 0; r < kRelative.size(); ++r) {
      needed[r] = std::max(needed[r], difference - kRelative[r] * unit * size);
    }
  }
  for (std::size_t r = 0; r < kRelative.size(); ++r) sample.needed[r].push_back(needed[r]);
  sample.fail_usual += fails;
  ++sample.pairs;
  if (!actual.empty()) sample.mean_size += sizes / static_cast<double>(actual.size());
}

// The value that is exceeded with probability `rate`.
double upper_quantile(std::vector<double> x, double rate) {
  std::ranges::sort(x);
  const auto n = static_cast<double>(x.size());
  const auto at = std::min(x.size() - 1, static_cast<std::size_t>(kThreshold * n));
  const double threshold = x[at];
  double excess = 0;
  std::size_t count = 0;
  for (std::size_t i = at; i < x.size(); ++i) {
    if (x[i] <= threshold) continue;
    excess += x[i] - threshold;
    ++count;
  }
  if (count == 0) return threshold;
  const double k = static_cast<double>(count);
  const double mean = excess / k * (1 + 1.645 / std::sqrt(k));
  return threshold + mean * std::max(0.0, std::log(k / n / rate));
}

double two_digits_up(double x) {
  if (x <= 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 1);
  return std::ceil(x / unit) * unit;
}

Allowance tightest(const Sample& sample, double unit, double rate) {
  Allowance best;
  double least = std::numeric_limits<double>::infinity();
  const double widened = std::exp(model::kMisfit);
  for (std::size_t r = 0; r < kRelative.size(); ++r) {
    const Allowance one{two_digits_up(kRelative[r] * unit * widened),
                        two_digits_up(upper_quantile(sample.needed[r], rate) * widened)};
    const double mean = one.atol + one.rtol * sample.mean_size / static_cast<double>(sample.pairs);
    if (mean < least) least = mean, best = one;
  }
  return best;
}

// The samples of all results on one input set.
std::vector<Sample> draw(const Case& c, const Oracle& oracle, const std::vector<Tolerance>& results,
                         std::uint64_t salt, int runs, double unit) {
  const LegalRuns eager = oracle.legal(c, salt, eager_freedom(), runs, 2 * salt);
  const LegalRuns fusing = oracle.legal(c, salt, fusing_freedom(), runs, 2 * salt + 1);
  std::vector<Sample> samples(eager.values.size());
  for (std::size_t t = 0; t < samples.size(); ++t) {
    for (std::size_t run = 0; run < eager.values[t].size(); ++run) {
      include(samples[t], fusing.values[t][run], eager.values[t][run], results[t].usual, unit);
    }
  }
  return samples;
}

}  // namespace

Allowance torch_testing_default(DType dtype) {
  switch (real_part(dtype)) {
    case DType::kFloat16:
      return {1e-3, 1e-5};
    case DType::kBFloat16:
      return {1.6e-2, 1e-5};
    case DType::kFloat32:
      return {1.3e-6, 1e-5};
    case DType::kFloat64:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

bool passes(const TensorResult& actual, const TensorResult& expected, const Allowance& allowance) {
  if (actual.layout.shape != expected.layout.shape || actual.present != expected.present ||
      is_integral(actual.layout.dtype) != is_integral(expected.layout.dtype)) {
    return false;
  }
  if (is_integral(actual.layout.dtype)) return actual.integers() == expected.integers();
  const std::vector<double> a = actual.reals(), e = expected.reals();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    if (!(std::abs(a[i] - e[i]) <= allowance.atol + allowance.rtol * std::abs(e[i]))) return false;
  }
  return true;
}

std::vector<Tolerance> tolerances(const Case& lowered, const OpTable& table,
                                  const ToleranceOptions& options) {
  const Oracle oracle(table);
  const Exact exact = oracle.exact(lowered, 0);
  std::vector<Tolerance> all;
  for (const ExactTensor& tensor : exact.tensors) {
    Tolerance one;
    one.tensor = tensor.name;
    one.dtype = tensor.type.dtype;
    one.usual = torch_testing_default(one.dtype);
    all.push_back(one);
  }
  if (exact.quad) return {};
  const double unit = float_format(narrowest_floating(lowered)).unit_roundoff;
  const int runs = std::clamp(256 / std::max(1, options.seeds), 4, model::kLegalRuns);
  struct Drawn {
    std::uint64_t salt;
    std::vector<Sample> samples;
  };
  std::vector<Drawn> sets;
  for (int i = 0; i < options.seeds; ++i) sets.push_back({static_cast<std::uint64_t>(i), {}});
  for_each_on_all_cores(
      sets, [&](Drawn& set) { set.samples = draw(lowered, oracle, all, set.salt, runs, unit); });
  std::vector<Tolerance> result;
  for (std::size_t t = 0; t < all.size(); ++t) {
    Sample sample;
    for (const Drawn& set : sets) sample.merge(set.samples[t]);
    if (sample.pairs == 0) continue;
    all[t].suggested = tightest(sample, unit, options.rate);
    all[t].pairs = sample.pairs;
    all[t].usual_rate = static_cast<double>(sample.fail_usual) / static_cast<double>(sample.pairs);
    result.push_back(all[t]);
  }
  return result;
}

}  // namespace ulpfuzz
