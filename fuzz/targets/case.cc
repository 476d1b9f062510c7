#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/investigate.h"
#include "fuzz/observed.h"
#include "generators/generate.h"
#include "generators/mutate.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "systems/scheduler.h"

// Whole cases under libFuzzer: the bytes are a case file, which is judged as a campaign's cases
// are, by workers of the scheduler. Mutation and crossover change the case (generators/mutate.h);
// bytes that are no case become one that is drawn. What the compilers did and how far results lay
// from exact are counters (fuzz/observed.h), by which libFuzzer keeps cases.
//
// ULPFUZZ_SYSTEMS: systems beside eager, "inductor" where it is not set. ULPFUZZ_FOUND names a
// folder in which cases with a finding are left, NAME.json; without it the first finding of one of
// these systems aborts, with a line that says what it is. With ULPFUZZ_CASES=drawn every case is
// drawn, whatever libFuzzer has learned: what feedback is worth is measured against that.
namespace {

using namespace ulpfuzz;
namespace fs = std::filesystem;

// libFuzzer reads them after each execution, and clears them.
__attribute__((section("__libfuzzer_extra_counters"))) std::uint8_t counters[1 << 16];

std::string variable(const char* name, const char* otherwise) {
  const char* named = std::getenv(name);
  return named == nullptr ? otherwise : named;
}

class Target {
 public:
  Target() : scheduler_(op_table(), options()) {
    judge_.systems = parse_systems(variable("ULPFUZZ_SYSTEMS", "inductor"));
    profile_.model_share = 0;
    profile_.max_nodes = 12;
    profile_.large_share = 0;
    if (!found_.empty()) fs::create_directories(found_);
  }

  int run(std::string_view text) {
    const std::optional<Case> c = read(text);
    if (!c) {  // stays in the corpus, for mutation to draw cases from
      counters[0] = 1;
      return 0;
    }
    const Judged judged =
        judge_cases({*c}, judge_, op_table(), scheduler_, Company::kSingle).front();
    observe(judged, counters);
    for (const Verdict& verdict : judged.verdicts) {
      if (is_finding(verdict.primary)) report(*c, verdict);
    }
    return 0;
  }

  std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    const std::optional<Case> c = read({reinterpret_cast<const char*>(data), size});  // NOLINT
    return write(c && !drawn_ && seed % 4 != 0 ? mutate_case(*c, seed, op_table(), profile_)
                                               : generate_case(seed, 0, op_table(), profile_),
                 data, size, most);
  }

  std::size_t cross(std::string_view first, std::string_view second, std::uint8_t* data,
                    std::size_t most, unsigned seed) {
    const std::optional<Case> a = read(first), b = read(second);
    return a && b ? write(cross_cases(*a, *b, seed, op_table(), profile_), data, 0, most) : 0;
  }

 private:
  static SchedulerOptions options() {
    SchedulerOptions options;
    options.jobs = 1;
    return options;
  }

  static std::optional<Case> read(std::string_view text) {
    try {
      Case c = case_from_json(text, "fuzzed");
      if (!is_lowered(c) || c.program.nodes.empty()) return std::nullopt;
      verify(c, op_table());
      return c;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // The size, or `otherwise` where there is no room.
  static std::size_t write(const Case& c, std::uint8_t* data, std::size_t otherwise,
                           std::size_t most) {
    const std::string text = to_json(c);
    if (text.size() > most) return otherwise;
    std::memcpy(data, text.data(), text.size());
    return text.size();
  }

  void report(const Case& c, const Verdict& verdict) {
    const std::string what = to_string(signature(verdict));
    // Its descendants show it again: those with all of its operators are not left.
    std::set<std::string> operators;
    for (const Node& node : c.program.nodes) operators.insert(node.op);
    for (const auto& [before, fewer] : seen_) {
      if (before == what && std::ranges::includes(operators, fewer)) return;
    }
    seen_.emplace_back(what, operators);
    if (found_.empty()) {
      const bool asked = std::ranges::any_of(judge_.systems, [&](const SystemSpec& system) {
        return to_string(system) == verdict.system;
      });
      if (!asked) return;
      std::fprintf(stderr, "ulpfuzz: %s\n", what.c_str());
      std::abort();
    }
    std::ofstream(found_ / (hashes(c).whole.substr(0, 16) + ".json")) << to_json(c);
  }

  const fs::path found_ = variable("ULPFUZZ_FOUND", "");
  const bool drawn_ = variable("ULPFUZZ_CASES", "") == "drawn";
  Scheduler scheduler_;
  JudgeOptions judge_;
  Profile profile_;
  std::vector<std::pair<std::string, std::set<std::string>>> seen_;  // signature, operators
};

// Made once, and never destroyed: libFuzzer ends without leaving main(), and workers end with us.
Target& target() {
  static Target& made = *[] {
    ::setenv("ULPFUZZ_OBSERVE", "1", 1);
    try {
      return new Target;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::exit(2);
    }
  }();
  return made;
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};  // NOLINT
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  target();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return target().mutate(data, size, most, seed);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second,
                                                 std::size_t second_size, std::uint8_t* out,
                                                 std::size_t most, unsigned seed) {
  return target().cross(text_of(first, first_size), text_of(second, second_size), out, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return target().run(text_of(data, size));
}
