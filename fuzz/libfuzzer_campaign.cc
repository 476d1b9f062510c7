#include "fuzz/libfuzzer_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "fuzz/stop_watch.h"
#include "fuzz/value_cases.h"
#include "ir/error.h"
#include "kernels/artifact.h"
#include "kernels/elements.h"
#include "kernels/folder.h"
#include "kernels/variants.h"
#include "systems/kernel_export.h"
#include "systems/kinds.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string clang() {
  const char* named = std::getenv("ULPFUZZ_CLANG");
  return named != nullptr && *named != '\0' ? named : "clang++";
}

// What follows `mark` up to the end of its line; "" when it is not there.
std::string after(const std::string& text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

constexpr int kSizes = 3;  // in which kernels of dynamic sizes are fuzzed, beside the case's own

using Target = LibFuzzerCampaignOptions::Target;

std::string_view name(Target target) {
  switch (target) {
    case Target::kKernels:
      return "kernel";
    case Target::kOperators:
      return "operator";
    case Target::kCases:
      return "case";
  }
  return "";
}

Case forward_alone(Case c) {
  c.wrt.clear();
  std::ranges::fill(c.cotangents, std::nullopt);
  return c;
}

class Loop {
 public:
  Loop(const LibFuzzerCampaignOptions& options, const OpTable& table, const std::atomic<bool>& stop,
       const std::function<void(const CampaignStatus&)>& show)
      : options_(options),
        table_(table),
        stop_(stop),
        show_(show),
        store_(options.store),
        scheduler_(table, options.scheduler),
        kernels_(options.target == Target::kKernels),
        fuzzer_(own_folder() / ("fuzz_" + std::string(name(options.target)))) {
    if (!fs::exists(fuzzer_)) {
      throw NotAvailable(fuzzer_.string() +
                         " is not there: it is built where clang's runtime is "
                         "(scripts/setup.sh fuzz, and a build folder made anew)");
    }
    judge_.systems = {options.system};
    if (const auto fault = options.system.options.find("fault");
        fault != options.system.options.end()) {
      fault_ = fault->second;
    }
    campaign_ = store_.begin_campaign(
        options.seed, fmt::format("{} by fuzz_{}", to_string(options.system), name(options.target)),
        options.only);
  }

  LibFuzzerCampaignSummary run() {
    const StopWatch watch(stop_, scheduler_);
    while (!finished()) {
      if (options_.target == Target::kCases) {
        round(next_++);
      } else {
        one(next_++);
      }
    }
    summary_.findings = follow_up_.found();
    summary_.wall_seconds = seconds_since(start_);
    summary_.cpu_seconds = own_cpu_seconds() - own_cpu_at_start_ + other_cpu_seconds_ +
                           scheduler_.usage().system_cpu_seconds;
    summary_.stopped = stop_;
    return summary_;
  }

 private:
  double seconds_left() const {
    return options_.seconds ? *options_.seconds - seconds_since(start_) : 1e9;
  }
  bool finished() const {
    return stop_ || seconds_left() <= 0 ||
           (options_.programs && summary_.programs >= *options_.programs) ||
           (options_.test && summary_.programs > 0);
  }

  void one(std::uint64_t index) {
    ++summary_.programs;
    const fs::path folder = fs::absolute(options_.store) / (kernels_ ? "kernels" : "operators") /
                            fmt::format("{}-{}", options_.seed, index);
    try {
      const std::vector<Case> variants =
          kernels_ ? prepare_kernels(folder, index) : prepare_operator(folder, index);
      if (!fuzz(folder, variants, index) && !options_.keep) fs::remove_all(folder);
    } catch (const NotAvailable&) {
      throw;
    } catch (const Error& error) {
      if (!stop_) ++summary_.not_fuzzed[error.what()];
      fs::remove_all(folder);
    }
    Store::Progress progress;
    progress.campaign = campaign_;
    progress.next_index = index + 1;
    progress.cases = progress.valid = 1;
    if (!stop_) store_.record(progress);
  }

  // Cases are fuzzed for a while, and then those are looked at in which something was seen.
  void round(std::uint64_t index) {
    ++summary_.programs;
    ++summary_.fuzzed;
    const fs::path folder = fs::absolute(options_.store) / "cases";
    const fs::path found = folder / fmt::format("found-{}-{}", options_.seed, index);
    tick("fuzzing cases");
    run_fuzzer(
        folder, std::max(std::min(options_.seconds_each, seconds_left()), 1.0), index, 1 << 16,
        {{"ULPFUZZ_FOUND", found.string()}, {"ULPFUZZ_SYSTEMS", to_string(options_.system)}});
    std::vector<fs::path> files;
    if (fs::exists(found)) {
      for (const fs::directory_entry& entry : fs::directory_iterator(found)) files.push_back(entry);
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      if (stop_) return;
      ++summary_.stopped_at;
      judge(read_case(file.string()), index);
    }
    if (!options_.keep) fs::remove_all(found);
  }

  // Leave in the folder what the fuzzer runs.
  std::vector<Case> prepare_kernels(const fs::path& folder, std::uint64_t index) {
    tick("compiling");
    const Case c = options_.test ? forward_alone(*options_.test)
                                 : kernel_case(options_.seed, index, table_, options_.only);
    const std::vector<Case> variants = c.environment.dynamic
                                           ? sizes(c, kSizes, options_.seed + index, table_)
                                           : std::vector<Case>{c};
    const std::string answer = export_kernels(variants, options_.system, table_, scheduler_);
    compile(write_kernel_folder(folder, variants, answer));
    return variants;
  }

  std::vector<Case> prepare_operator(const fs::path& folder, std::uint64_t index) {
    const Case c =
        options_.test ? *options_.test : operator_case(options_.seed, index, table_, options_.only);
    const std::vector<Case> variants = layouts(c, table_);
    write_variants(folder, variants);
    return variants;
  }

  void compile(const KernelFolder& kernel) {
    const ProgramEnd end = run_program(kernel_compile_command(kernel, clang(), true), {},
                                       [this] { return stop_.load(); });
    other_cpu_seconds_ += end.cpu_seconds;
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 127) {
      throw NotAvailable(clang() + " is not there: scripts/setup.sh fuzz installs it");
    }
    if (!end.succeeded()) {
      const std::string why = after(end.text, "error: ");
      throw Error("kernels", "clang does not compile them: " + why);
    }
  }

  // Until the program's time is over: a kind of fault that was seen is passed over from then on, so
  // that it does not hide the next. Whether there was any.
  bool fuzz(const fs::path& folder, const std::vector<Case>& variants, std::uint64_t index) {
    const auto begin = Clock::now();
    ++summary_.fuzzed;
    std::string seen;  // kinds
    while (true) {
      // libFuzzer counts whole seconds; a program whose turn it is gets one at least.
      double left = std::min(options_.seconds_each - seconds_since(begin), seconds_left());
      if (seen.empty()) left = std::max(left, 1.0);
      if (left < 1) break;
      const Stop stop = fuzz_for(folder, variants, index, left, seen);
      if (stop.artifact.empty()) break;
      ++summary_.stopped_at;
      judge(case_of_artifact(stop.artifact), index);
      seen += (seen.empty() ? "" : ",") + stop.kind;
      if (stop.kind.empty()) return true;  // a sanitizer's: it would end each execution
    }
    return !seen.empty();
  }

  struct Stop {
    fs::path artifact;  // "": at nothing
    std::string kind;   // "wrong", "nan-mismatch"; "" of what a sanitizer saw
  };
  // Until libFuzzer stops at something.
  Stop fuzz_for(const fs::path& folder, const std::vector<Case>& variants, std::uint64_t index,
                double seconds, const std::string& passed_over) {
    tick("fuzzing " + variants.front().program.nodes.back().op);
    std::size_t longest = 64;
    for (const Case& c : variants) longest = std::max(longest, InputElements(c).bytes() + 1);
    const ProgramEnd end =
        run_fuzzer(folder, seconds, index, longest,
                   {{kernels_ ? "ULPFUZZ_KERNEL" : "ULPFUZZ_OPERATOR", folder.string()},
                    {"ULPFUZZ_PASS", passed_over},
                    {"ULPFUZZ_FAULT", fault_},
                    {"ASAN_OPTIONS", "detect_leaks=0:malloc_context_size=0"},
                    {"UBSAN_OPTIONS", "print_stacktrace=1"}});
    if (end.stopped || end.succeeded()) return {};
    const std::string written = after(end.text, "Test unit written to ");
    if (written.empty() || !fs::exists(written)) {
      throw Error("libFuzzer", "it ended without an input: " +
                                   end.text.substr(end.text.size() -
                                                   std::min<std::size_t>(end.text.size(), 300)));
    }
    const std::string fact = after(end.text, "\nulpfuzz: ");
    return {written, fact.substr(0, fact.find(':'))};
  }

  // With the corpus and the artifacts in `folder`.
  ProgramEnd run_fuzzer(const fs::path& folder, double seconds, std::uint64_t index,
                        std::size_t longest, std::map<std::string, std::string> variables) {
    fs::create_directories(folder / "corpus");
    const ProgramEnd end =
        run_program({fs::absolute(fuzzer_).string(), (folder / "corpus").string(),
                     fmt::format("-max_total_time={}", static_cast<int>(seconds)),
                     fmt::format("-seed={}", (options_.seed * 1000003 + index) % 0x7FFFFFFF + 1),
                     "-artifact_prefix=" + folder.string() + "/", "-print_final_stats=1",
                     options_.target == Target::kCases ? "-timeout=1200" : "-timeout=10",
                     "-rss_limit_mb=4096", "-handle_fpe=0", fmt::format("-max_len={}", longest)},
                    std::move(variables), [this] { return stop_.load(); });
    other_cpu_seconds_ += end.cpu_seconds;
    summary_.fuzzing_cpu_seconds += end.cpu_seconds;
    const std::string units = after(end.text, "stat::number_of_executed_units: ");
    if (!units.empty()) summary_.executions += std::atoll(units.c_str());
    return end;
  }

  void judge(const Case& c, std::uint64_t index) {
    tick("judging");
    const Judged judged = judge_cases({c}, judge_, table_, scheduler_, Company::kStock).front();
    bool seen = false;
    for (const Verdict& verdict : judged.verdicts) {
      ++status_.verdicts[std::string(name(verdict.primary))];
      if (!is_finding(verdict.primary) || stop_) continue;
      seen = seen || verdict.system == to_string(options_.system);
      FollowUp::Limits limits;
      limits.cpu_budget_seconds = options_.reduction_cpu_seconds;
      limits.stopped = [this] { return seconds_left() <= -60; };  // what is found is written up
      limits.given_up = [this] { return stop_.load(); };
      limits.show = [this](const std::string& doing) { tick(doing); };
      const FollowUp::Outcome outcome = follow_up_.follow(c, verdict, campaign_, index, limits);
      if (outcome == FollowUp::Outcome::kLost) continue;
      ++summary_.occurrences;
      ++status_.occurrences;
      if (outcome == FollowUp::Outcome::kNew) ++status_.findings;
    }
    if (seen) ++summary_.confirmed;
  }

  void tick(const std::string& doing) {
    if (!show_) return;
    status_.cases = summary_.programs;
    status_.valid = summary_.fuzzed;
    status_.wall_seconds = seconds_since(start_);
    if (options_.seconds) status_.seconds_left = std::max(0.0, seconds_left());
    status_.doing = doing;
    show_(status_);
  }

  const LibFuzzerCampaignOptions& options_;
  const OpTable& table_;
  const std::atomic<bool>& stop_;
  const std::function<void(const CampaignStatus&)>& show_;
  Store store_;
  Scheduler scheduler_;
  JudgeOptions judge_;
  FollowUp follow_up_{store_, table_, judge_, scheduler_};
  const bool kernels_;
  std::string fault_;  // that operators have too
  const fs::path fuzzer_;
  std::int64_t campaign_ = 0;
  std::uint64_t next_ = 0;
  double other_cpu_seconds_ = 0;  // of compilers and fuzzers
  LibFuzzerCampaignSummary summary_;
  CampaignStatus status_;
  const Clock::time_point start_ = Clock::now();
  const double own_cpu_at_start_ = own_cpu_seconds();
};

}  // namespace

LibFuzzerCampaignSummary run_libfuzzer_campaign(
    const LibFuzzerCampaignOptions& options, const OpTable& table, const std::atomic<bool>& stop,
    const std::function<void(const CampaignStatus&)>& show) {
  return Loop(options, table, stop, show).run();
}

}  // namespace ulpfuzz
