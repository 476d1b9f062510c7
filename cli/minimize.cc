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
#include "judge/relation.h"
#include "ops/table.h"
#include "report/report.h"

namespace ulpfuzz {
namespace {

struct Options {
  SystemOptions systems;
  std::string named;
  std::string store = "ulpfuzz-store";
  std::string output;
  std::string budget = "10m";
  bool explain = false;
  bool no_values = false;
  std::string relations = "none";
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

void write_finding(const std::filesystem::path& folder, const Finding& finding) {
  std::filesystem::create_directories(folder);
  write(folder / "case.json", to_pretty_json(finding.original));
  write(folder / "minimal.json", to_pretty_json(finding.minimal));
  write(folder / "repro.py", repro_py(finding, op_table()));
  write(folder / "report.md", report_md(finding, op_table()));
}

void show_progress(const ReductionProgress& p) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}: {} steps, {} candidates tried", p.pass, p.steps, p.tried);
  std::fflush(stderr);
}

ExitStatus run(const Options& o) {
  const double budget = parse_time("--budget", o.budget);
  JudgeOptions judge;
  judge.systems = o.systems.parsed();
  judge.values = judge.confirm = !o.no_values;
  judge.relations = chosen_relations(o.relations);
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
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(budget);
  InvestigateOptions how;
  how.cpu_budget_seconds = 1e9;
  how.progress = show_progress;
  how.look_again = true;
  how.capture_fault = o.systems.capture_fault();
  how.stopped = [&] { return stop_requested() || std::chrono::steady_clock::now() > deadline; };
  auto finding = investigate(c, *verdict, judge, op_table(), scheduler, how);
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
  if (!finding)
    throw Error(o.named, "the finding was not seen again: " + to_string(signature(*verdict)));
  if (o.explain) finding->variations = explain(c, finding->signature, judge, op_table(), scheduler);
  const std::filesystem::path folder =
      o.output.empty() ? std::filesystem::path(o.named).stem().string() + "-minimal" : o.output;
  write_finding(folder, *finding);
  object = {{"found", true},
            {"case", hashes(c).whole},
            {"id", finding->id},
            {"verdict", std::string(name(finding->signature.kind))},
            {"system", finding->signature.system},
            {"reduced", finding->reduced},
            {"nodes", finding->minimal.program.nodes.size()},
            {"folder", folder.string()},
            {"variations", nlohmann::json::array()}};
  for (const Variation& v : finding->variations) {
    object["variations"].push_back(
        {{"what", v.what}, {"change", v.change}, {"fails", v.fails}, {"verdict", v.verdict}});
  }
  if (o.json) {
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}: {} nodes{}, in {}\n", to_string(finding->signature),
               finding->minimal.program.nodes.size(),
               finding->reduced ? "" : " (the budget ended the reduction)", folder.string());
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
  command->add_flag("--no-values", o->no_values,
                    "Judge endings, layouts, kernels and relations alone");
  command
      ->add_option("--relations", o->relations,
                   "Relations to hold: names, all, cheap or none (docs/relations.md)")
      ->capture_default_str();
  command->add_flag("--explain", o->explain,
                    "Also change one thing at a time, to say what may vary");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  o->systems.add_device_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
