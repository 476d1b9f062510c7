// Faults planted into a real system are found and named; without one the same cases are clean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

const std::set<std::string> kClean{"agree", "reordered", "excess-precision", "discontinuity"};

std::string model_case(const std::string& dtype, const std::string& initializer_range) {
  return R"({"ulpfuzz": 1, "model": {"family": "qwen2", "config": {"vocab_size": 16,
      "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
      "head_dim": 4, "intermediate_size": 24, "max_position_embeddings": 16, "batch": 1, "length": 6,
      "first_position": 0, "rope": true, "cast_buffers": false, "tie_word_embeddings": false,
      "pad_token_id": -1, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "initializer_range": )" +
         initializer_range + R"(,
      "labels": true, "ignore_some": false, "gradients": true, "seed": 7, "dtype": ")" +
         dtype + R"("}}})";
}

const nlohmann::json& system_of(const nlohmann::json& judged, const std::string& name) {
  for (const auto& system : judged.at("systems")) {
    if (system.at("system") == name) return system;
  }
  ADD_FAILURE() << "no " << name;
  return judged;
}

// Faults of a model's formula: `wrong`, seen on the float32 rung, for the faulty system alone.
void expect_wrong(const std::vector<std::string>& faults, const std::vector<std::string>& dtypes,
                  const std::string& initializer_range) {
  std::string systems = "inductor";
  for (const std::string& fault : faults) systems += ",inductor[fault=" + fault + "]";
  for (const std::string& dtype : dtypes) {
    Folder folder;
    write_text(folder / "model.json", model_case(dtype, initializer_range));
    const Output output =
        ulpfuzz_run({"judge", folder / "model.json", "--systems", systems, "--json"});
    ASSERT_EQ(output.status, 1) << output.err;
    const auto judged = output.json();
    const auto verdicts = verdicts_of(judged);
    EXPECT_TRUE(kClean.count(verdicts.at("eager@py"))) << system_of(judged, "eager@py");
    EXPECT_TRUE(kClean.count(verdicts.at("inductor"))) << system_of(judged, "inductor");
    for (const std::string& fault : faults) {
      const auto& system = system_of(judged, "inductor[fault=" + fault + "]");
      bool on_float32 = false;
      for (const auto& fact : system.at("facts")) {
        on_float32 |= fact.at("kind") == "wrong" && fact.at("rung") == "float32";
      }
      EXPECT_TRUE(on_float32) << dtype << " " << fault << ": " << system.at("primary");
    }
  }
}

// Weights large enough that attention is not uniform.
TEST(Faults, OfAttentionAreWrongOnTheFloat32Rung) {
  expect_wrong({"rope-k-skipped"}, {"bfloat16"}, "0.5");
  expect_wrong({"attn-scale=1.03"}, {"float32"}, "0.5");
}

// At the library's own initialisation the mean square is small enough for eps to matter: with
// weights of 0.5 it is a millionth of it, which float32 hardly tells.
TEST(Faults, OfTheNormAreWrongOnTheFloat32Rung) {
  expect_wrong({"rms-no-eps"}, {"float32"}, "0.02");
}

constexpr const char* kMatrix = R"({"ulpfuzz": 1, "program": {
    "inputs": [{"name": "x", "dtype": "float32", "shape": [4, 6]}],
    "nodes": [{"name": "y", "op": "aten.sin.default", "args": {"self": {"ref": "x"}}}],
    "outputs": ["y"]}, "inputs": {"x": {"fill": {"kind": "normal"}}}, "cotangents": [null]})";

// Faults of the process and of its results.
TEST(Faults, OfTheWorkerAreNamed) {
  Folder folder;
  write_text(folder / "matrix.json", kMatrix);
  const Output output = ulpfuzz_run(
      {"judge", folder / "matrix.json", "--json", "--systems",
       "inductor,inductor[fault=one-nan],inductor[fault=wrong-out-stride],inductor[fault=crash],"
       "inductor[fault=garbage],eager@cpp,eager@cpp[fault=one-nan],eager@cpp[fault=crash],"
       "eager@cpp[fault=garbage],eager@cpp[fault=bad-frame]"});
  ASSERT_EQ(output.status, 1) << output.err;
  const auto verdicts = verdicts_of(output.json());
  EXPECT_TRUE(kClean.count(verdicts.at("eager@py")));
  EXPECT_TRUE(kClean.count(verdicts.at("inductor")));
  EXPECT_EQ(verdicts.at("inductor[fault=one-nan]"), "nan-mismatch");
  EXPECT_THAT(verdicts.at("inductor[fault=wrong-out-stride]"), AnyOf("metadata", "stride-assert"));
  EXPECT_EQ(verdicts.at("inductor[fault=crash]"), "crash");
  EXPECT_TRUE(kClean.count(verdicts.at("inductor[fault=garbage]")));
  EXPECT_EQ(verdicts.at("eager@cpp"), "agree");
  EXPECT_EQ(verdicts.at("eager@cpp[fault=one-nan]"), "nan-mismatch");
  EXPECT_EQ(verdicts.at("eager@cpp[fault=crash]"), "crash");
  EXPECT_EQ(verdicts.at("eager@cpp[fault=garbage]"), "agree");
  EXPECT_EQ(verdicts.at("eager@cpp[fault=bad-frame]"), "crash");
}

TEST(Faults, AHangEndsAtItsLimitAndIsConfirmed) {
  Folder folder;
  write_text(folder / "matrix.json", kMatrix);
  const Output output = ulpfuzz_run({"judge", folder / "matrix.json", "--systems", "eager@cpp",
                                     "--fault", "hang", "--cpu-limit", "2s", "--json"});
  EXPECT_EQ(output.status, 1) << output.err;
  EXPECT_EQ(verdicts_of(output.json()).at("eager@cpp[fault=hang]"), "hang");
}

// A case on which eager itself raises asks no question.
TEST(Faults, NothingFoundIsStatusZeroAndUndecidedIsThree) {
  Folder folder;
  write_text(folder / "matrix.json", kMatrix);
  EXPECT_EQ(ulpfuzz_run({"judge", folder / "matrix.json", "--systems", "eager@cpp"}).status, 0);
  // log of negative numbers only: every exact value is NaN... a cast of them is undefined.
  write_text(folder / "undefined.json", R"({"ulpfuzz": 1, "program": {
      "inputs": [{"name": "x", "dtype": "float32", "shape": [4]}],
      "nodes": [{"name": "y", "op": "aten.to.dtype",
                 "args": {"self": {"ref": "x"}, "dtype": {"dtype": "int32"}}}],
      "outputs": ["y"]},
      "inputs": {"x": {"fill": {"kind": "literal", "values": [1e20]}}}, "cotangents": [null]})");
  EXPECT_EQ(ulpfuzz_run({"judge", folder / "undefined.json", "--systems", "eager@cpp"}).status, 3);
}

}  // namespace
}  // namespace ulpfuzz
