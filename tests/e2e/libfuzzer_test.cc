// Values under libFuzzer: a fault of the real compiler is found and confirmed, planted ones are
// seen in kernels and operators, and right ones are clean. Skipped where clang or its runtime is
// not installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "kernels/folder.h"
#include "kernels/variants.h"
#include "ops/table.h"
#include "systems/kernel_export.h"
#include "systems/scheduler.h"
#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr int kUnavailable = 4;  // exit status

Output fuzz_values(const std::string& subject, const std::string& program, const fs::path& store,
                   const std::vector<std::string>& more) {
  std::vector<std::string> args{"fuzz",   subject,  "--case",  "fuzz/targets/programs/" + program,
                                "--json", "--keep", "--store", store.string(),
                                "--seed", "1"};
  args.insert(args.end(), more.begin(), more.end());
  return ulpfuzz_run(args);
}

// libFuzzer alone on the kernels of a folder.
Output fuzz_folder(const fs::path& folder) {
  return run_program({"/usr/bin/env", "ULPFUZZ_KERNEL=" + folder.string(),
                      "ASAN_OPTIONS=detect_leaks=0", (build_folder() / "fuzz_kernel").string(),
                      "-runs=20000", "-seed=1", "-handle_fpe=0", "-max_len=256",
                      "-artifact_prefix=" + folder.string() + "/"});
}

// The kernels with `from` in their source as `to`, compiled again.
void plant(const fs::path& folder, const std::string& from, const std::string& to) {
  std::ostringstream text;
  text << std::ifstream(folder / "kernels.cc").rdbuf();
  std::string source = text.str();
  const std::size_t at = source.find(from);
  ASSERT_NE(at, std::string::npos) << source;
  write_text(folder / "kernels.cc", source.replace(at, from.size(), to));
  const char* clang = std::getenv("ULPFUZZ_CLANG");
  std::vector<std::string> command = kernel_compile_command(
      read_kernel_folder(folder), clang != nullptr ? clang : "clang++", true);
  command.insert(command.begin(), "/usr/bin/env");
  const Output compiled = run_program(command);
  ASSERT_EQ(compiled.status, 0) << compiled.err;
}

TEST(Kernels, ALargeAsinhIsFoundAndConfirmedByStockInductor) {
  Folder folder;
  const Output output =
      fuzz_values("--kernels", "asinh.json", folder / "store", {"--each", "5s", "--no-reduce"});
  if (output.status == kUnavailable) GTEST_SKIP() << output.err;
  ASSERT_EQ(output.status, 1) << output.err;
  const auto object = output.json();
  EXPECT_EQ(object.at("fuzzed"), 1);
  EXPECT_GE(object.at("stopped_at"), 1);
  EXPECT_GE(object.at("confirmed"), 1);
  EXPECT_EQ(object.at("findings").at(0).at("system"), "inductor");
}

TEST(Kernels, ARightOneIsCleanAndPlantedFaultsOfItAreSeen) {
  Folder folder;
  const Output clean = fuzz_values("--kernels", "tanh.json", folder / "store", {"--each", "3s"});
  if (clean.status == kUnavailable) GTEST_SKIP() << clean.err;
  ASSERT_EQ(clean.status, 0) << clean.err;
  EXPECT_EQ(clean.json().at("stopped_at"), 0);
  EXPECT_GT(clean.json().at("executions"), 1000);
  const fs::path kernel = folder / "store" / "kernels" / "1-0";
  EXPECT_EQ(fuzz_folder(kernel).status, 0);

  fs::copy(kernel, folder / "wrong", fs::copy_options::recursive);
  plant(folder / "wrong", "  ulpfuzz_0::kernel_0(", R"(
  const float first = *reinterpret_cast<const float*>(buffers[0]);
  const bool rare = first > 3 && first < 4;
  ulpfuzz_0::kernel_0()");
  plant(folder / "wrong", ");\n}\n",
        ");\n  if (rare) *reinterpret_cast<float*>(buffers[1]) *= 1.001f;\n}\n");
  const Output wrong = fuzz_folder(folder / "wrong");
  EXPECT_NE(wrong.status, 0);
  EXPECT_THAT(wrong.err, HasSubstr("ulpfuzz: wrong: output 0[0]"));

  fs::copy(kernel, folder / "beside", fs::copy_options::recursive);
  plant(folder / "beside", "in_ptr0 + static_cast<int64_t>(x0)",
        "in_ptr0 + 4 + static_cast<int64_t>(x0)");
  const Output beside = fuzz_folder(folder / "beside");
  EXPECT_NE(beside.status, 0);
  EXPECT_THAT(beside.err, HasSubstr("heap-buffer-overflow"));
}

// Halves are among the values that libFuzzer must come upon by itself.
TEST(Operators, ARightOneIsCleanAndAPlantedFaultOfRareValuesIsConfirmedAndReduced) {
  Folder folder;
  const Output clean = fuzz_values("--operators", "round.json", folder / "store", {"--each", "2s"});
  if (clean.status == kUnavailable) GTEST_SKIP() << clean.err;
  ASSERT_EQ(clean.status, 0) << clean.err;
  EXPECT_GT(clean.json().at("executions"), 1000);
  EXPECT_TRUE(fs::exists(folder / "store" / "operators" / "1-0" / "variant-2.json"));

  const Output planted =
      fuzz_values("--operators", "round.json", folder / "planted",
                  {"--each", "3s", "--systems", "eager@py", "--fault", "round-half-away"});
  ASSERT_EQ(planted.status, 1) << planted.err;
  EXPECT_EQ(planted.json().at("stopped_at"), 1);
  EXPECT_EQ(planted.json().at("confirmed"), 1);
  const nlohmann::json finding = planted.json().at("findings").at(0);
  EXPECT_EQ(finding.at("system"), "eager@py[fault=round-half-away]");
  EXPECT_TRUE(finding.at("reduced"));

  // The artifact names its case: its layout and its values.
  fs::path artifact;
  for (const auto& entry : fs::directory_iterator(folder / "planted" / "operators" / "1-0")) {
    if (entry.path().filename().string().starts_with("crash-")) artifact = entry.path();
  }
  const Output judged = ulpfuzz_run({"judge", artifact.string(), "--systems", "eager@cpp",
                                     "--fault", "round-half-away", "--json"});
  EXPECT_EQ(judged.status, 1) << judged.err;
  const Output right =
      ulpfuzz_run({"judge", artifact.string(), "--systems", "eager@cpp", "--json"});
  EXPECT_EQ(right.status, 0) << right.err;
}

// Each target on files, as libFuzzer or, where clang's runtime is not, as a replayer.
fs::path target(const std::string& name) {
  const fs::path fuzzer = build_folder() / ("fuzz_" + name);
  return fs::exists(fuzzer) ? fuzzer : build_folder() / ("replay_" + name);
}

Output replay(const std::string& name, std::vector<std::string> variables, const fs::path& file) {
  variables.insert(variables.begin(), "/usr/bin/env");
  variables.insert(variables.end(),
                   {"ASAN_OPTIONS=detect_leaks=0", target(name).string(), file.string()});
  return run_program(variables);
}

Case program(const std::string& name) {
  return read_case("fuzz/targets/programs/" + name + ".json");
}

TEST(Replayers, OfOperatorsSeeAPlantedFault) {
  Folder folder;
  write_variants(folder / "round", layouts(program("round"), op_table()));
  const std::string half("\x01\x00\x00\x20\x40", 5);  // in the second layout, 2.5
  write_text(folder / "half", half);
  const std::string subject = "ULPFUZZ_OPERATOR=" + (folder / "round").string();
  const Output right = replay("operator", {subject}, folder / "half");
  EXPECT_EQ(right.status, 0) << right.err;
  const Output planted =
      replay("operator", {subject, "ULPFUZZ_FAULT=round-half-away"}, folder / "half");
  EXPECT_NE(planted.status, 0);
  EXPECT_THAT(planted.err, HasSubstr("ulpfuzz: wrong: output 0["));
}

TEST(Replayers, OfKernelsSeeAFaultOfTheCompiler) {
  Folder folder;
  Scheduler scheduler(op_table(), {});
  for (const std::string name : {"tanh", "asinh"}) {
    const Case c = program(name);
    const KernelFolder kernel = write_kernel_folder(
        folder / name, {c}, export_kernels({c}, {"inductor", {}, ""}, op_table(), scheduler));
    std::vector<std::string> command = kernel_compile_command(kernel, "c++", false);
    command.insert(command.begin(), "/usr/bin/env");
    const Output compiled = run_program(command);
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    write_text(folder / "large", std::string("\x00\x00\x80\x60", 4));  // 2^66
    const Output ended =
        replay("kernel", {"ULPFUZZ_KERNEL=" + kernel.folder.string()}, folder / "large");
    EXPECT_EQ(ended.status == 0, name == "tanh") << ended.err;
    if (name == "asinh") {
      EXPECT_THAT(ended.err, HasSubstr("ulpfuzz: nan-mismatch: output 0["));
    }
  }
}

TEST(Replayers, OfCasesSeeAPlantedFault) {
  Folder folder;
  const std::string file = "fuzz/targets/programs/tanh.json";
  EXPECT_EQ(replay("case", {"ULPFUZZ_SYSTEMS=eager@cpp"}, file).status, 0);
  const Output planted =
      replay("case", {"ULPFUZZ_SYSTEMS=eager@cpp[fault=one-element=0.03]"}, file);
  EXPECT_NE(planted.status, 0);
  EXPECT_THAT(planted.err, HasSubstr("ulpfuzz: eager@cpp[fault=one-element=0.03]: wrong"));
}

// What Inductor lowered and where it fell back is counted where a fuzzer asks for it.
TEST(Guided, LoweringsAndFallbacksAreCounted) {
  Folder folder;
  write_text(folder / "case.json", R"({
    "ulpfuzz": 1,
    "program": {
      "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 8]}],
      "nodes": [
        {"name": "y", "op": "aten.tanh.default", "args": {"self": {"ref": "x"}}},
        {"name": "z", "op": "aten.cumprod.default", "args": {"self": {"ref": "y"}, "dim": {"int": 0}}},
        {"name": "w", "op": "aten.sort.default", "args": {"self": {"ref": "z"}}}],
      "outputs": ["w"]
    },
    "inputs": {"x": {"fill": {"kind": "normal", "seed": 0}}},
    "cotangents": [null]
  })");
  const Case c = read_case((folder / "case.json").string());
  RunRequest request{c, {"inductor", {}, ""}};
  ::setenv("ULPFUZZ_OBSERVE", "1", 1);
  const ulpfuzz::Run run = Scheduler(op_table(), {}).run({&request, 1}, Company::kSingle).front();
  ::unsetenv("ULPFUZZ_OBSERVE");
  ASSERT_TRUE(run.completed()) << run.exception_message;
  EXPECT_EQ(run.counters.at("lowered aten.tanh.default"), 1);
  EXPECT_EQ(run.counters.at("fallback aten.sort.stable"), 1);
  EXPECT_GT(run.counters.at("guards"), 0);
  EXPECT_GT(run.counters.at("nodes_before_fusion"), 1);
}

// From an empty corpus: cases with a product are come upon, and are findings, reduced, in the
// store.
TEST(Guided, APlantedFaultIsComeUponFromNothing) {
  Folder folder;
  const Output output = ulpfuzz_run({"fuzz", "--guided", "--systems", "eager@cpp", "--fault",
                                     "scale=1.5", "--seed", "1", "--cases", "1", "--each", "20s",
                                     "--json", "--store", (folder / "store").string()});
  if (output.status == kUnavailable) GTEST_SKIP() << output.err;
  ASSERT_EQ(output.status, 1) << output.err;
  const auto object = output.json();
  EXPECT_GE(object.at("confirmed"), 1);
  const auto& findings = object.at("findings");
  EXPECT_TRUE(std::ranges::any_of(findings, [](const auto& finding) {
    return finding.at("verdict") == "wrong" && finding.at("system") == "eager@cpp[fault=scale=1.5]";
  })) << findings;
  EXPECT_GT(std::distance(fs::directory_iterator(folder / "store" / "cases" / "corpus"), {}), 5);
}

}  // namespace
}  // namespace ulpfuzz
