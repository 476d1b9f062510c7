#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/time.h"
#include "fuzz/explain.h"
#include "fuzz/investigate.h"
#include "ir/error.h"
#include "ops/table.h"
#include "reducers/reducer.h"
#include "report/report.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {

struct Options {
  SystemOptions systems;
  std::string named;
  std::string store = "ulpfuzz-store";
  std::string output;
  std::string budget = "10m";
  bool explain = false;
  JudgingOptions judging;
  bool steps = false;
  bool no_looks = false;
  bool pytest = false;
  bool cpp = false;
  bool json = false;
};

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw Error(path.string(), "cannot be written");
}

// The verdict to reduce: the one that comes first in precedence, eager's last among equals.
const Verdict* worst(const std::vector<Verdict>& verdicts) {
  const Verdict* found = nullptr;
  for (const Verdict& v : verdicts) {
    if (!is_finding(v.primary)) continue;
    const bool better = found == nullptr || v.primary < found->primary ||
                        (v.primary == found->primary && found->system.rfind("eager", 0) == 0);
    if (better) found = &v;
  }
  return found;
}

void write_finding(const std::filesystem::path& folder, const Finding& finding, const Options& o) {
  std::filesystem::create_directories(folder);
  write(folder / "case.json", to_pretty_json(finding.original));
  write(folder / "minimal.json", to_pretty_json(finding.minimal));
  write(folder / "repro.py", repro_py(finding, op_table()));
  write(folder / "report.md", report_md(finding, op_table()));
  if (o.pytest) write(folder / "test_repro.py", repro_pytest(finding, op_table()));
  if (o.cpp) write(folder / "repro.cc", repro_cc(finding, op_table()));
}

// A line that is written over on a terminal; with --steps a line a batch.
void show_progress(const ReductionProgress& p, double cpu_seconds, double seconds_left,
                   bool steps) {
  if (!steps && isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr,
             "{}{}: {} nodes, {} elements, {} steps, {} tried, {:.0f} CPU s, {:.0f} s left{}",
             steps ? "" : "\r\033[K", p.pass, p.nodes, p.elements, p.steps, p.tried, cpu_seconds,
             std::max(seconds_left, 0.0), steps ? "\n" : "");
  std::fflush(stderr);
}

// Of the case as it came where it is a model or module, whose fields have names; else of the
// smallest program.
void add_explanation(Finding& finding, const JudgeOptions& judge, const Options& o,
                     Scheduler& scheduler) {
  const Case& shown = has_origin(finding.original) ? finding.original : finding.minimal;
  ExplainOptions how;
  how.capture_fault = o.systems.capture_fault();
  how.stopped = [] { return stop_requested().load(); };
  // The smallest case was judged without a ladder.
  const JudgeOptions options =
      has_origin(finding.original) ? judge : options_for(finding.verdict, judge);
  Explanation found = explain(shown, finding.signature, options, op_table(), scheduler, how);
  finding.variations = std::move(found.variations);
  finding.conditions = sentence(found.conditions);
  for (const Neighbour& n : found.conditions.neighbours) {
    finding.variations.push_back(
        {n.dimension, "nearest that passes: " + to_text(n.own) + " -> " + to_text(n.passes), false,
         "passes"});
  }
}

ExitStatus run(const Options& o) {
  const double budget = parse_time("--budget", o.budget);
  const JudgeOptions judge = o.judging.of(o.systems.parsed());
  Scheduler scheduler(op_table(), o.systems.scheduler());
  const Case c =
      o.systems.placed(find_case(o.named, o.store, scheduler, o.systems.capture_fault()));
  const auto verdicts =
      judge_cases({c}, judge, op_table(), scheduler, Company::kSingle).front().verdicts;
  const Verdict* verdict = worst(verdicts);
  nlohmann::json object{{"found", false}, {"case", hashes(c).whole}};
  if (verdict == nullptr) {
    if (o.json) {
      fmt::print("{}\n", object.dump());
    } else {
      fmt::print("nothing to reduce:");
      for (const Verdict& v : verdicts) fmt::print(" {} {};", v.system, name(v.primary));
      fmt::print("\n");
    }
    return status_of(verdicts);
  }
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(budget);
  const auto seconds_left = [&] {
    return std::chrono::duration<double>(deadline - Clock::now()).count();
  };
  const auto cpu = [&] { return own_cpu_seconds() + scheduler.usage().system_cpu_seconds; };
  InvestigateOptions how;
  how.cpu_budget_seconds = 1e9;
  how.progress = [&](const ReductionProgress& p) {
    show_progress(p, cpu(), seconds_left(), o.steps);
  };
  how.look_again = !o.no_looks;
  how.capture_fault = o.systems.capture_fault();
  how.stopped = [&] { return stop_requested() || seconds_left() <= 0; };
  const std::filesystem::path folder =
      o.output.empty() ? std::filesystem::path(o.named).stem().string() + "-minimal" : o.output;
  std::filesystem::create_directories(folder);
  how.state = folder / "reduction.json";
  how.certify = true;
  SeenAgain again;
  how.begun = [&](const SeenAgain& seen) { again = seen; };
  auto finding = investigate(c, *verdict, judge, op_table(), scheduler, how);
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
  if (!finding)
    throw Error(o.named, fmt::format("the finding was lost: {} was seen on {} of {} more looks",
                                     to_string(signature(*verdict)), again.seen, again.looks));
  if (o.explain) add_explanation(*finding, judge, o, scheduler);
  write_finding(folder, *finding, o);
  object = {{"found", true},
            {"case", hashes(c).whole},
            {"id", finding->id},
            {"verdict", std::string(name(finding->signature.kind))},
            {"system", finding->signature.system},
            {"reduced", finding->reduced},
            {"nodes", finding->minimal.program.nodes.size()},
            {"elements", elements_of(finding->minimal.program)},
            {"steps", finding->steps},
            {"tried", finding->tried},
            {"seen", again.seen},
            {"looks", again.looks},
            {"conditions", finding->conditions},
            {"single_steps", nlohmann::json::object()},
            {"cpu_seconds", cpu()},
            {"folder", folder.string()},
            {"variations", nlohmann::json::array()}};
  for (const PassCount& count : finding->single_steps) {
    if (count.candidates == 0) continue;
    object["single_steps"][count.pass] = {count.candidates, count.still_fail};
  }
  for (const Variation& v : finding->variations) {
    object["variations"].push_back(
        {{"what", v.what}, {"change", v.change}, {"fails", v.fails}, {"verdict", v.verdict}});
  }
  if (o.json) {
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}: {} nodes{}, in {}\n", to_string(finding->signature),
               finding->minimal.program.nodes.size(),
               finding->reduced
                   ? ""
                   : " (the budget ended the reduction; the same command goes on with it)",
               folder.string());
    if (!finding->conditions.empty()) fmt::print("{}\n", finding->conditions);
    for (const Variation& v : finding->variations) {
      fmt::print("  {:<32} {}, {}\n",
                 v.fails ? "fails in the same way with" : "does not fail so with", v.what,
                 v.change);
    }
  }
  return kFound;
}

}  // namespace

void add_minimize(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("minimize", "Reduce a failing case and write it up for a bug report");
  command->add_option("CASE", o->named, "Case file, finding folder, or finding id")->required();
  command->add_option("-o,--output", o->output, "Folder to write (default: NAME-minimal)");
  command->add_option("--budget", o->budget, "How long to reduce at most")->capture_default_str();
  command->add_option("--store", o->store, "Folder of the store")->capture_default_str();
  o->judging.add_to(*command);
  command->add_flag("--explain", o->explain,
                    "Also change one thing at a time, to say what may vary");
  command->add_flag("--pytest", o->pytest, "Also write test_repro.py, a test that fails so");
  command->add_flag("--cpp", o->cpp, "Also write repro.cc, the program on LibTorch");
  command->add_flag("--steps", o->steps, "A line on stderr for each batch of candidates");
  command->add_flag("--no-looks", o->no_looks,
                    "Do not look at other instruction sets and releases in the end");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  o->systems.add_device_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
