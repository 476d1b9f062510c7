#include "calibration/peers.h"

#include <array>
#include <cmath>
#include <vector>

#include "judge/tolerance.h"

namespace ulpfuzz {
namespace {

// Elements of any type as complex numbers in double; real ones have no imaginary parts.
struct Elements {
  std::vector<double> real, imaginary;

  explicit Elements(const TensorResult& result) {
    if (is_integral(result.layout.dtype)) {
      for (const std::int64_t i : result.integers()) real.push_back(static_cast<double>(i));
    } else {
      split(result.reals(), is_complex(result.layout.dtype));
    }
  }
  explicit Elements(const ExactTensor& exact) { split(exact.values, is_complex(exact.type.dtype)); }

  std::size_t size() const { return real.size(); }
  double distance(const Elements& other, std::size_t i) const {
    const double d = real[i] - other.real[i];
    return imaginary.empty() ? std::abs(d) : std::hypot(d, imaginary[i] - other.imaginary[i]);
  }
  double magnitude(std::size_t i) const {
    return imaginary.empty() ? std::abs(real[i]) : std::hypot(real[i], imaginary[i]);
  }
  bool is_nan(std::size_t i) const {
    return std::isnan(real[i]) || (!imaginary.empty() && std::isnan(imaginary[i]));
  }
  bool any_nan() const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (is_nan(i)) return true;
    }
    return false;
  }
  bool equal(const Elements& other, std::size_t i) const {
    return real[i] == other.real[i] && (imaginary.empty() || imaginary[i] == other.imaginary[i]);
  }

 private:
  void split(const std::vector<double>& values, bool complex) {
    const std::size_t step = complex ? 2 : 1;
    for (std::size_t i = 0; i + step <= values.size(); i += step) {
      real.push_back(values[i]);
      if (complex) imaginary.push_back(values[i + 1]);
    }
  }
};

bool comparable(const Elements& a, const Elements& b) {
  return a.size() == b.size() && a.imaginary.size() == b.imaginary.size();
}

// Equal, both NaN, or nearer than atol + rtol |b|: torch.allclose(a, b, equal_nan=True).
bool all_close(const Elements& a, const Elements& b, Allowance allowance) {
  if (!comparable(a, b)) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.equal(b, i) || (a.is_nan(i) && b.is_nan(i))) continue;
    const double distance = a.distance(b, i);
    if (!std::isfinite(distance)) return false;
    if (distance > allowance.atol + allowance.rtol * b.magnitude(i)) return false;
  }
  return true;
}

bool same_shape(const TensorResult& a, const TensorResult& b) {
  return a.layout.shape == b.layout.shape;
}
bool same_type(const TensorResult& a, const TensorResult& b) {
  return a.layout.dtype == b.layout.dtype;
}

bool torch_testing(const TensorResult& actual, const TensorResult& eager, const ExactTensor&) {
  return same_shape(actual, eager) && same_type(actual, eager) &&
         all_close(Elements(actual), Elements(eager), torch_testing_default(eager.layout.dtype));
}

bool wide_tolerance(const TensorResult& actual, const TensorResult& eager, const ExactTensor&) {
  return same_shape(actual, eager) && all_close(Elements(actual), Elements(eager), {1e-2, 1e-3});
}

// A sum that is not a number is no objection: nothing is greater than 5 % then.
bool sums(const TensorResult& actual, const TensorResult& eager, const ExactTensor&) {
  const auto sum = [](const Elements& elements) {
    double real = 0, imaginary = 0;
    for (const double x : elements.real) real += x;
    for (const double x : elements.imaginary) imaginary += x;
    return std::pair(real, imaginary);
  };
  const auto [a, ai] = sum(Elements(actual));
  const auto [e, ei] = sum(Elements(eager));
  return !(std::hypot(a - e, ai - ei) > 0.05 * (std::hypot(e, ei) + 1e-12));
}

double rmse(const Elements& a, const Elements& exact) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(a.distance(exact, i), 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// How much larger than eager's error against float64 a compiled result's may be: more for half
// types, and for tensors of few elements, whose RMSE says little.
double multiplier(const TensorResult& actual) {
  const DType dtype = actual.layout.dtype;
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) return 3;
  const Shape& shape = actual.layout.shape;
  const bool pointwise_kernel = shape.size() == 4 && shape[2] == 1 && shape[3] == 1;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements < 1000 || pointwise_kernel ? 3 : 2;
}

// As the accuracy minifier calls it: with torch._dynamo.config.repro_tolerance.
bool pytorch_same(const TensorResult& actual, const TensorResult& eager, const ExactTensor& exact) {
  constexpr double kTolerance = 1e-3;
  if (!same_type(actual, eager) || !same_shape(actual, eager)) return false;
  const Elements result(actual), reference(eager);
  // The tolerance is relative to the compiled result.
  if (all_close(reference, result, {kTolerance, kTolerance})) return true;
  // Only floating tensors have a double to be held against.
  if (!is_floating(actual.layout.dtype)) return false;
  const Elements truth(exact);
  if (!comparable(truth, result)) return false;
  // Where eager alone has a NaN, and the result is roughly right, the result is the better one.
  constexpr double kLoose = 4e-2;
  if (!truth.any_nan() && !result.any_nan() && reference.any_nan() &&
      all_close(truth, result, {kLoose, kLoose})) {
    return true;
  }
  const double of_reference = rmse(reference, truth), of_result = rmse(result, truth);
  if (std::isnan(of_reference) && std::isnan(of_result)) return true;
  return of_result <= multiplier(actual) * of_reference + kTolerance / 10;
}

// Adding a peer is one entry.
constexpr std::array kPeers{
    PeerJudge{"torch.testing", "the documentation of torch.testing.assert_close",
              "|actual - eager| <= atol + rtol |eager|, both by the dtype; equal dtypes",
              &torch_testing},
    PeerJudge{"PyTorch same",
              "torch/_dynamo/utils.py of torch 2.11, same(), with a tolerance t of "
              "0.001 as the accuracy minifier calls it",
              "|eager - actual| <= t + t |actual|, or RMSE against float64 <= 2 or 3 times eager's "
              "+ t / 10; equal dtypes",
              &pytorch_same},
    PeerJudge{"sum within 5 %", "the check that torchfuzz writes into its programs",
              "|sum(actual) - sum(eager)| <= 5 % of |sum(eager)|", &sums},
    PeerJudge{"rtol 1e-2, atol 1e-3", "a tolerance wide enough for half types",
              "|actual - eager| <= 0.001 + 0.01 |eager|", &wide_tolerance},
};

}  // namespace

std::span<const PeerJudge> peer_judges() { return kPeers; }

bool peer_alarm(const PeerJudge& peer, const Run& run, const Run& eager, const Exact& exact) {
  if (run.executions.empty() || eager.executions.empty()) return run.status != eager.status;
  const Execution& of_eager = eager.executions.front();
  for (const TensorResult& actual : run.executions.front().tensors) {
    const TensorResult* expected = of_eager.find(actual.name);
    const ExactTensor* truth = exact.find(actual.name);
    if (expected == nullptr || expected->present != actual.present) return true;
    if (!actual.present || truth == nullptr) continue;
    if (!peer.accepts(actual, *expected, *truth)) return true;
  }
  return false;
}

}  // namespace ulpfuzz
