// What the judge says of a system that is right by construction.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

// ULPFUZZ_SYNTHETIC_CASES: how many cases of each freedom set.
std::string number_of_cases() {
  const char* wanted = std::getenv("ULPFUZZ_SYNTHETIC_CASES");
  return wanted != nullptr ? wanted : "16";
}

TEST(Synthetic, LegalExecutionsAreNoFindings) {
  Folder folder;
  const Output output =
      ulpfuzz_run({"fuzz", "--store", folder / "store", "--cases", number_of_cases(), "--seed",
                   "21", "--no-reduce", "--json", "--systems",
                   "synthetic@py[seed=1],synthetic@py[freedom=eager,seed=2]"});
  ASSERT_TRUE(output.status == 0 || output.status == 1) << output.err;
  for (const auto& finding : output.json().at("findings")) {
    EXPECT_EQ(finding.at("system").get<std::string>().find("synthetic"), std::string::npos)
        << finding;
  }
}

// The same system with a fault is found: what is legal is not what nobody looks at.
TEST(Synthetic, WithAFaultItIsWrong) {
  Folder folder;
  write_text(folder / "case.json", R"({"ulpfuzz": 1, "program": {
      "inputs": [{"name": "x", "dtype": "bfloat16", "shape": [8, 12]},
                 {"name": "w", "dtype": "bfloat16", "shape": [12, 12]}],
      "nodes": [{"name": "m", "op": "aten.mm.default", "args": {"self": {"ref": "x"}, "mat2": {"ref": "w"}}},
                {"name": "y", "op": "aten.silu.default", "args": {"self": {"ref": "m"}}}],
      "outputs": ["y"]},
      "inputs": {"x": {"fill": {"kind": "normal"}}, "w": {"fill": {"kind": "normal"}}},
      "cotangents": [null]})");
  const Output output = ulpfuzz_run({"judge", folder / "case.json", "--json", "--systems",
                                     "synthetic@py[seed=1],synthetic@py[seed=1,fault=scale=1.03],"
                                     "synthetic@py[seed=1,fault=gelu-for-silu]"});
  const auto verdicts = verdicts_of(output.json());
  EXPECT_EQ(verdicts.at("synthetic@py[fault=scale=1.03,seed=1]"), "wrong");
  EXPECT_EQ(verdicts.at("synthetic@py[fault=gelu-for-silu,seed=1]"), "wrong");
  EXPECT_NE(verdicts.at("synthetic@py[seed=1]"), "wrong");
}

}  // namespace
}  // namespace ulpfuzz
