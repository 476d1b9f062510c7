#include "calibration/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "cli/time.h"
#include "ir/error.h"
#include "judge/relation.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  SystemOptions systems;
  CalibrateOptions calibrate;
  std::string budget = "60s";
  std::string relations = "none";
  std::string output;
  bool quick = false;
  bool json = false;
};

// For CI: a minute of CPU time, without a compiler, whose start alone costs that.
void make_quick(CalibrateOptions& o, const CLI::App& command) {
  const auto unless_given = [&](const char* option, int& value, int quick) {
    if (command.count(option) == 0) value = quick;
  };
  unless_given("--legal-cases", o.legal_cases, 12);
  unless_given("--executions", o.legal_executions, 6);
  unless_given("--real-cases", o.real_cases, 24);
  unless_given("--faulty-cases", o.faulty_cases, 1);
  unless_given("--compiled-cases", o.compiled_faulty_cases, 0);
  unless_given("--seeds", o.fault_seeds, 1);
}

void write_tables(const Calibration& result, const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream file(folder / "tables.md");
  file << tables(result);
  file.close();
  if (!file) throw Error((folder / "tables.md").string(), "cannot be written");
  if (result.fit_csv.empty()) return;
  std::ofstream samples(folder / "fit.csv");
  samples << result.fit_csv;
  samples.close();
  if (!samples) throw Error((folder / "fit.csv").string(), "cannot be written");
}

ExitStatus run(Options& o) {
  CalibrateOptions& options = o.calibrate;
  options.real_systems = o.systems.parsed();
  options.relations = chosen_relations(o.relations);
  options.reduction_cpu_seconds = parse_time("--budget", o.budget);
  if (!o.output.empty()) options.cases_folder = (fs::path(o.output) / "cases").string();
  options.stopped = [] { return stop_requested().load(); };
  const bool terminal = isatty(STDERR_FILENO) != 0;
  options.progress = [&](const std::string& doing) {
    if (terminal && !o.json) fmt::print(stderr, "\r\033[K{}", doing.substr(0, 110));
  };
  Scheduler scheduler(op_table(), o.systems.scheduler());
  const Calibration result = calibrate(options, op_table(), scheduler);
  if (terminal && !o.json) fmt::print(stderr, "\r\033[K");
  if (!o.output.empty()) write_tables(result, o.output);
  if (o.json) {
    fmt::print("{}\n", to_json(result));
  } else {
    fmt::print("{}", tables(result));
  }
  for (const Requirement& r : requirements(result)) {
    if (!r.holds) return kFound;
  }
  return kNothingFound;
}

void add_counts(CLI::App& command, CalibrateOptions& o) {
  command.add_option("--legal-cases", o.legal_cases, "Cases of the legal part")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000));
  command.add_option("--executions", o.legal_executions, "Synthetic executions of each")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option("--real-cases", o.real_cases, "Cases on real systems, without a fault")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000));
  command
      .add_option("--faulty-cases", o.faulty_cases,
                  "Cases of each fault in eager mode, of each kind of program")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000));
  command.add_option("--compiled-cases", o.compiled_faulty_cases, "Likewise in a compiler")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000));
  command.add_option("--seeds", o.fault_seeds, "Input sets for a fault that one does not show")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  o->calibrate.adjudicated = "calibration/adjudicated.json";
  CLI::App* command = app.add_subcommand(
      "calibrate",
      "Measure the judge: false alarms on systems known to be right, and planted faults");
  command->add_flag("--quick", o->quick, "A small one, for CI: about a minute of CPU time");
  command->add_option("--only", o->calibrate.only,
                      "One part: legal, real, faults or fit; or one planted fault (attn-scale)");
  command->add_option("--seed", o->calibrate.seed, "Same seed, same cases")->capture_default_str();
  add_counts(*command, o->calibrate);
  command
      ->add_option("--adjudicated", o->calibrate.adjudicated,
                   "File of alarms that were looked into (calibration/README.md)")
      ->capture_default_str();
  command->add_option("--budget", o->budget, "CPU time for reducing one alarm")
      ->capture_default_str();
  command
      ->add_option(
          "--relations", o->relations,
          "Relations to hold of real systems: names, all, cheap or none (docs/relations.md)")
      ->capture_default_str();
  command->add_option("-o,--output", o->output,
                      "Folder for tables.md, and for the cases of alarms and misses");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  command->callback([o, command, &action] {
    if (o->quick) {
      make_quick(o->calibrate, *command);
      if (command->count("--systems") == 0) o->systems.systems = "eager@cpp";
    }
    // The file of the source tree; elsewhere there may be none.
    if (command->count("--adjudicated") == 0 && !fs::exists(o->calibrate.adjudicated)) {
      o->calibrate.adjudicated.clear();
    }
    action = [o] { return run(*o); };
  });
}

}  // namespace ulpfuzz
