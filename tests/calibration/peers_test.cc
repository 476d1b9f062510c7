// The peers' rules on tensors small enough to compute by hand. Each accepts on one side of its
// limit and objects on the other.
#include "calibration/peers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/judge/runs.h"

namespace ulpfuzz {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const PeerJudge& peer(const std::string& name) {
  for (const PeerJudge& p : peer_judges()) {
    if (p.name == name) return p;
  }
  throw std::runtime_error("no peer " + name);
}

ExactTensor exact_of(std::vector<double> values, DType dtype = DType::kFloat32) {
  ExactTensor exact;
  exact.name = "output 0";
  exact.type = {dtype, {static_cast<std::int64_t>(values.size())}};
  exact.values = std::move(values);
  return exact;
}

bool accepts(const std::string& name, const std::vector<float>& actual,
             const std::vector<float>& eager, const std::vector<double>& exact = {}) {
  return peer(name).accepts(floats("output 0", actual), floats("output 0", eager), exact_of(exact));
}

TensorResult halves(const std::vector<std::uint16_t>& bits) {
  return tensor_of("output 0", DType::kBFloat16, {static_cast<std::int64_t>(bits.size())}, bits);
}

// Proves: float32's default is 1e-5 + 1.3e-6 |eager|; integers must be equal; a dtype of its own is
// a difference.
TEST(Peers, TorchTestingHasItsTable) {
  EXPECT_TRUE(accepts("torch.testing", {100.0001f}, {100}));
  EXPECT_FALSE(accepts("torch.testing", {100.0002f}, {100}));
  EXPECT_TRUE(accepts("torch.testing", {kNan, kInfinity}, {kNan, kInfinity}));
  EXPECT_FALSE(accepts("torch.testing", {kNan}, {1}));
  EXPECT_FALSE(accepts("torch.testing", {kInfinity}, {1}));
  const PeerJudge& testing = peer("torch.testing");
  EXPECT_TRUE(testing.accepts(indices("output 0", {7}), indices("output 0", {7}), exact_of({})));
  EXPECT_FALSE(testing.accepts(indices("output 0", {8}), indices("output 0", {7}), exact_of({})));
  EXPECT_FALSE(testing.accepts(indices("output 0", {7}), floats("output 0", {7}), exact_of({})));
  // 1 and the next bfloat16, 0.0078 more, within 1.6e-2; the third is not.
  EXPECT_TRUE(testing.accepts(halves({0x3F81}), halves({0x3F80}), exact_of({})));
  EXPECT_FALSE(testing.accepts(halves({0x3F83}), halves({0x3F80}), exact_of({})));
}

TEST(Peers, WideToleranceIsOnePercent) {
  EXPECT_TRUE(accepts("rtol 1e-2, atol 1e-3", {1.0109f}, {1}));
  EXPECT_FALSE(accepts("rtol 1e-2, atol 1e-3", {1.0112f}, {1}));
  // Also of integers, and whatever the dtype.
  const PeerJudge& wide = peer("rtol 1e-2, atol 1e-3");
  EXPECT_TRUE(wide.accepts(indices("output 0", {201}), indices("output 0", {200}), exact_of({})));
  EXPECT_FALSE(wide.accepts(indices("output 0", {203}), indices("output 0", {200}), exact_of({})));
}

// Proves: it looks at the sum alone, and does not object to one that is no number.
TEST(Peers, SumsHideWhatCancels) {
  EXPECT_TRUE(accepts("sum within 5 %", {5, -4}, {1, 0}));
  EXPECT_TRUE(accepts("sum within 5 %", {1.04f, 0}, {1, 0}));
  EXPECT_FALSE(accepts("sum within 5 %", {1.06f, 0}, {1, 0}));
  EXPECT_TRUE(accepts("sum within 5 %", {kNan, 1}, {1, 1}));
}

// Proves: beyond its tolerance of 0.001 (relative to the compiled result) the RMSE against float64
// decides: 3 times eager's for few elements or half types, plus 1e-4.
TEST(Peers, SameComparesErrorsWithFloat64) {
  EXPECT_TRUE(accepts("PyTorch same", {1.0019f}, {1}, {1}));
  // Eager is off by 0.1; 0.3 is as far as it goes.
  EXPECT_TRUE(accepts("PyTorch same", {1.29f, 1.29f}, {1.1f, 1.1f}, {1, 1}));
  EXPECT_FALSE(accepts("PyTorch same", {1.31f, 1.31f}, {1.1f, 1.1f}, {1, 1}));
  EXPECT_FALSE(accepts("PyTorch same", {1.01f}, {1}, {1}));
  // Integers have no float64 beside them.
  const PeerJudge& same = peer("PyTorch same");
  EXPECT_TRUE(same.accepts(indices("output 0", {5}), indices("output 0", {5}), exact_of({})));
  EXPECT_FALSE(same.accepts(indices("output 0", {6}), indices("output 0", {5}), exact_of({})));
  EXPECT_FALSE(same.accepts(halves({0x3F80}), floats("output 0", {1}), exact_of({1})));
}

// Proves: from 1000 elements on a float32 tensor gets twice eager's error, a half type thrice.
TEST(Peers, SameIsStricterWithLargeTensors) {
  const auto objects = [](std::size_t n, float error) {
    return !accepts("PyTorch same", std::vector<float>(n, 1 + error), std::vector<float>(n, 1.1f),
                    std::vector<double>(n, 1));
  };
  EXPECT_FALSE(objects(999, 0.25f));
  EXPECT_TRUE(objects(1000, 0.25f));
  EXPECT_FALSE(objects(1000, 0.19f));
  const std::vector<std::uint16_t> far(1000, 0x3FA0), near(1000, 0x3F8D);  // 1.25, 1.1015625
  EXPECT_TRUE(peer("PyTorch same")
                  .accepts(halves(far), halves(near),
                           exact_of(std::vector<double>(1000, 1), DType::kBFloat16)));
}

// Proves: a result without the NaN that eager alone has is the better one; a NaN of its own is not.
TEST(Peers, SameForgivesEagersNan) {
  EXPECT_TRUE(accepts("PyTorch same", {1, 2}, {kNan, 2}, {1.01, 2}));
  EXPECT_FALSE(accepts("PyTorch same", {1.2f, 2}, {kNan, 2}, {1, 2}));
  EXPECT_FALSE(accepts("PyTorch same", {kNan, 2}, {1, 2}, {1, 2}));
  EXPECT_TRUE(accepts("PyTorch same", {kNan, 2}, {kNan, 2}, {1, 2}));
}

// Proves: the distance of complex numbers is that in the plane.
TEST(Peers, KnowComplexNumbers) {
  const auto complex = [](const std::vector<float>& parts) {
    return tensor_of("output 0", DType::kComplex64, {static_cast<std::int64_t>(parts.size() / 2)},
                     parts);
  };
  const PeerJudge& wide = peer("rtol 1e-2, atol 1e-3");
  ExactTensor exact = exact_of({3, 4}, DType::kComplex64);
  // |3 + 4i| = 5: 0.051 are allowed.
  EXPECT_TRUE(wide.accepts(complex({3.03f, 4.04f}), complex({3, 4}), exact));
  EXPECT_FALSE(wide.accepts(complex({3.04f, 4.04f}), complex({3, 4}), exact));
}

// Proves: every result of a run counts, and what is missing is seen by every peer.
TEST(Peers, LookAtWholeRuns) {
  Exact exact;
  exact.tensors = {exact_of({1}), exact_of({1})};
  exact.tensors[1].name = "gradient of x";
  const ulpfuzz::Run eager = completed({floats("output 0", {1}), floats("gradient of x", {1})});
  const ulpfuzz::Run same = eager;
  const ulpfuzz::Run off = completed({floats("output 0", {1}), floats("gradient of x", {2})});
  ulpfuzz::Run without = eager;
  without.executions[0].tensors[1].present = false;
  for (const PeerJudge& p : peer_judges()) {
    EXPECT_FALSE(peer_alarm(p, same, eager, exact)) << p.name;
    EXPECT_TRUE(peer_alarm(p, off, eager, exact)) << p.name;
    EXPECT_TRUE(peer_alarm(p, without, eager, exact)) << p.name;
    EXPECT_TRUE(peer_alarm(p, raised(Stage::kCompile, "E", "m"), eager, exact)) << p.name;
  }
}

}  // namespace
}  // namespace ulpfuzz
