#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "generators/family.h"
#include "importers/family.h"
#include "importers/source.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "systems/capture.h"

namespace ulpfuzz {
namespace {

struct Options {
  std::string source;
  std::string family;
  std::vector<std::string> settings;
  std::string output;
  bool trust = false;
  bool program = false;
  bool json = false;
};

Imported imported(const Options& o, Scheduler& scheduler) {
  const Settings settings = parse_settings(o.settings);
  if (o.source.empty() == o.family.empty()) {
    throw Error("import", "needs a SOURCE or --family, and not both");
  }
  if (!o.family.empty()) return import_family(o.family, settings);
  return import_source(o.source, {settings, o.trust}, scheduler);
}

// The program that the module or model is, without its origin.
Case program_alone(const Case& c, Scheduler& scheduler) {
  Case program = capture(lower(c), scheduler);
  program.model.reset();
  program.module.reset();
  verify(program, op_table(), "import");
  return program;
}

ExitStatus run(const Options& o) {
  SchedulerOptions how;
  how.jobs = 1;
  Scheduler scheduler(op_table(), how);
  Imported result = imported(o, scheduler);
  if (o.program) result.test = program_alone(result.test, scheduler);
  for (const std::string& note : result.notes) fmt::print(stderr, "{}\n", note);
  if (!o.output.empty()) write_case(o.output, result.test);
  if (o.json) {
    Json object{{"case", hashes(result.test).whole},
                {"kind", result.kind},
                {"notes", result.notes},
                {"nodes", result.test.program.nodes.size()},
                {"output", o.output}};
    if (o.output.empty()) object["document"] = json_of(result.test);
    fmt::print("{}\n", object.dump());
  } else if (o.output.empty()) {
    fmt::print("{}\n", to_pretty_json(result.test));
  }
  return kNothingFound;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "import",
      "Make a case of what you have\n\n"
      "  1. ulpfuzz import config.json --set num_hidden_layers=1 vocab_size=64 -o case.json\n"
      "  2. ulpfuzz import --family qwen2 --set num_attention_heads=28 -o case.json\n"
      "  3. ulpfuzz judge case.json");
  command->add_option("SOURCE", o->source, "A file (docs/import.md)");
  command->add_option("--family", o->family,
                      "A model family in place of a file: qwen2, llama, phi3");
  command->add_option("--set", o->settings, "FIELD=VALUE of the configuration or the call");
  command->add_flag("--trust", o->trust, "Run a Python file, which can do whatever you can");
  command->add_option("-o,--output", o->output, "The case's file (default: standard output)");
  command->add_flag("--program", o->program,
                    "Keep the program alone, which needs no library to run");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
