// Why a real system differs: excess precision is proved on a real compiler's results, and a fault
// that was planted into the same system is not explained away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

// A gated RMS norm in bfloat16 with gradients, fused by Inductor into two kernels.
TEST(Causes, ExcessPrecisionOfInductorIsProved) {
  const Output output =
      ulpfuzz_run({"judge", "corpus/gated-norm-bfloat16.json", "--why", "--json"});
  ASSERT_EQ(output.status, 0) << output.err;
  const auto causes = output.json().at("causes");
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].at("system"), "inductor");
  EXPECT_EQ(causes[0].at("cause"), "excess-precision") << causes[0];
  // On inputs that no search saw.
  EXPECT_EQ(causes[0].value("held_out", false), true);
  bool named = false;
  for (const auto& wide : causes[0].at("wide")) {
    named |= wide.at("value") == "normal" && wide.at("into") == "weighted";
  }
  EXPECT_TRUE(named);
  for (const auto& tensor : causes[0].at("tensors")) {
    EXPECT_TRUE(tensor.at("reproduced")) << tensor;
    // Eager's roundings are far from it.
    EXPECT_GT(tensor.at("nominal"), 100 * tensor.at("noise").get<double>()) << tensor;
  }
}

constexpr const char* kRelu = R"({"ulpfuzz": 1, "program": {
    "inputs": [{"name": "x", "dtype": "bfloat16", "shape": [8, 24]},
               {"name": "w", "dtype": "bfloat16", "shape": [24]}],
    "nodes": [
      {"name": "a", "op": "aten.mul.Tensor", "args": {"self": {"ref": "x"}, "other": {"ref": "w"}}},
      {"name": "b", "op": "aten.add.Tensor", "args": {"self": {"ref": "a"}, "other": {"ref": "w"}}},
      {"name": "r", "op": "aten.relu.default", "args": {"self": {"ref": "b"}}},
      {"name": "y", "op": "aten.mul.Tensor", "args": {"self": {"ref": "r"}, "other": {"ref": "w"}}}],
    "outputs": ["y"]},
    "inputs": {"x": {"fill": {"kind": "normal", "seed": 1}},
               "w": {"fill": {"kind": "normal", "seed": 2, "shift": 2}}},
    "cotangents": [null]})";

TEST(Causes, APlantedFaultIsNotReproducedAndItsNodeIsNamed) {
  Folder folder;
  write_text(folder / "relu.json", kRelu);
  const Output output = ulpfuzz_run({"judge", folder / "relu.json", "--systems",
                                     "inductor,inductor[fault=relu-plus-one]", "--why", "--json"});
  ASSERT_EQ(output.status, 1) << output.err;
  const auto causes = output.json().at("causes");
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].at("cause"), "excess-precision") << causes[0];
  EXPECT_EQ(causes[1].at("cause"), "unexplained") << causes[1];
  ASSERT_TRUE(causes[1].contains("first_diverging")) << causes[1];
  EXPECT_EQ(causes[1].at("first_diverging").at("node"), "r");
  EXPECT_EQ(causes[1].at("first_diverging").at("strength"), "bound");
}

}  // namespace
}  // namespace ulpfuzz
