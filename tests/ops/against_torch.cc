#include "tests/ops/against_torch.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "oracle/scalar.h"

namespace ulpfuzz {

namespace {

// Is y a legal value for a real element of the exact result? Sets `ratio` where both are finite.
bool legal(double y, const ExactTensor& exact, std::size_t i, double bound, double& ratio) {
  const double e = exact.values[i];
  if (std::isnan(e) || std::isnan(y)) return std::isnan(e) == std::isnan(y);
  if (std::isinf(e)) return y == e;
  if (std::isinf(y)) {
    const double largest = float_format(real_part(exact.type.dtype)).max_finite;
    return std::fabs(e) + bound >= largest && std::signbit(y) == std::signbit(e);
  }
  const double error = std::fabs((y - e) - (exact.low.empty() ? 0 : exact.low[i]));
  if (error > 0) ratio = error / bound;
  return error <= bound;
}

class TensorComparison {
 public:
  TensorComparison(const TensorResult& got, const ExactTensor& exact, Comparison& to)
      : got_(got), exact_(exact), to_(to) {}

  void run() {
    if (got_.name != exact_.name || got_.present != exact_.present) {
      return fault("another result: " + got_.name + (got_.present ? "" : " (None)"));
    }
    if (!got_.present) return;
    const TensorType type{got_.layout.dtype, got_.layout.shape};
    if (!(type == exact_.type)) {
      return fault("is " + to_string(type) + ", not " + to_string(exact_.type));
    }
    is_integral(type.dtype) ? integers() : reals();
  }

 private:
  void integers() {
    const std::vector<std::int64_t> got = got_.integers();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool listed = i < exact_.acceptable.size() && !exact_.acceptable[i].empty();
      if (exact_.marks[i] != 0 && !listed) {
        ++to_.masked;
        continue;
      }
      ++to_.compared;
      bool good = got[i] == exact_.integers[i];
      if (listed) {
        const auto& set = exact_.acceptable[i];
        good = std::find(set.begin(), set.end(), got[i]) != set.end();
      }
      if (!good) return element(i, std::to_string(got[i]), std::to_string(exact_.integers[i]), 0);
    }
  }

  void reals() {
    const std::vector<double> got = got_.reals();
    const std::size_t width = is_complex(exact_.type.dtype) ? 2 : 1;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double bound = exact_.bound[i / width];
      if (!std::isfinite(bound) || (exact_.marks[i / width] & kUndefined) != 0) {
        ++to_.masked;
        continue;
      }
      ++to_.compared;
      double ratio = 0;
      const bool good = legal(got[i], exact_, i, bound, ratio);
      to_.worst = std::max(to_.worst, ratio);
      if (!good) {
        std::ostringstream y, e;
        y.precision(17), e.precision(17);
        y << got[i], e << exact_.values[i];
        return element(i, y.str(), e.str(), bound);
      }
    }
  }

  void element(std::size_t i, const std::string& got, const std::string& exact, double bound) {
    std::ostringstream text;
    text << "[" << i << "] = " << got << ", exact " << exact << " +- " << bound << " of "
         << to_string(exact_.type);
    fault(text.str());
  }
  void fault(const std::string& what) { to_.faults.push_back(exact_.name + ": " + what); }

  const TensorResult& got_;
  const ExactTensor& exact_;
  Comparison& to_;
};

}  // namespace

Comparison compare(const Run& run, const Exact& exact) {
  Comparison result;
  if (!run.completed()) {
    result.faults.push_back("torch raised " + run.exception_type + ": " +
                            run.exception_message.substr(0, 200));
    return result;
  }
  const std::vector<TensorResult>& tensors = run.executions.front().tensors;
  if (tensors.size() != exact.tensors.size()) {
    result.faults.push_back("another number of results");
    return result;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    TensorComparison(tensors[i], exact.tensors[i], result).run();
  }
  return result;
}

}  // namespace ulpfuzz
