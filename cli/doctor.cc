#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "ops/table.h"
#include "systems/environments.h"

namespace ulpfuzz {
namespace {

ExitStatus run(const SystemOptions& options, bool json) {
  Scheduler scheduler(op_table(), options.scheduler());
  bool all = true;
  nlohmann::json systems = nlohmann::json::array();
  for (const SystemKind& kind : system_kinds()) {
    const Scheduler::SystemInfo info = scheduler.info(SystemSpec{std::string(kind.name), {}, ""});
    all &= info.available;
    systems.push_back({{"system", std::string(kind.name)},
                       {"meaning", std::string(kind.meaning)},
                       {"available", info.available},
                       {"why_not", info.why_not},
                       {"versions", info.versions}});
    if (json) continue;
    fmt::print("{:<10} {}\n", kind.name, info.available ? "available" : info.why_not);
    for (const auto& [what, version] : info.versions)
      fmt::print("           {} {}\n", what, version);
  }
  nlohmann::json environments = nlohmann::json::array();
  for (const InstalledEnvironment& e : installed_environments(environments_folder())) {
    environments.push_back({{"name", e.name}, {"torch", e.torch}, {"python", e.python}});
    if (!json) fmt::print("@{:<9} torch {}, Python {}\n", e.name, e.torch, e.python);
  }
  if (json) {
    const nlohmann::json object{{"operators", op_table().ops().size()},
                                {"systems", systems},
                                {"environments", environments}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{} operators\n", op_table().ops().size());
  }
  return all ? kNothingFound : kUnavailable;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  struct Options {
    SystemOptions systems;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("doctor", "Say which systems are there, with their versions");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  command->callback([o, &action] { action = [o] { return run(o->systems, o->json); }; });
}

}  // namespace ulpfuzz
