#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "ir/error.h"
#include "systems/environments.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

using Json = nlohmann::json;

constexpr double kGigabyte = 1 << 30;

Json json_of(const InstalledEnvironment& e) {
  return {{"name", e.name},
          {"torch", e.torch},
          {"python", e.python},
          {"bytes", e.bytes},
          {"path", e.path.string()}};
}

void print(const InstalledEnvironment& e) {
  fmt::print("{:<16} torch {:<14} Python {:<8} {:>5.1f} GB  {}\n", e.name, e.torch, e.python,
             static_cast<double>(e.bytes) / kGigabyte, e.path.string());
}

ExitStatus add(const std::vector<std::string>& words, const std::string& python, double limit,
               bool json) {
  const EnvironmentWish wish = parse_environment(words);
  if (!(limit > 0 && limit < 1e6)) throw Error("--limit", "not a size in GB");
  InstallOptions options;
  options.python = project_python(python, "env add");
  options.limit_bytes = static_cast<std::uint64_t>(limit * kGigabyte);
  options.stopped = [&stop = stop_requested()] { return stop.load(); };
  options.progress = [](const std::string& what) { fmt::print(stderr, "{}\n", what); };
  const InstalledEnvironment added = add_environment(environments_folder(), wish, options);
  if (json) {
    fmt::print("{}\n", json_of(added).dump());
  } else {
    print(added);
  }
  return kNothingFound;
}

ExitStatus list(bool json) {
  const std::vector<InstalledEnvironment> found = installed_environments(environments_folder());
  if (json) {
    Json environments = Json::array();
    for (const InstalledEnvironment& e : found) environments.push_back(json_of(e));
    const Json object{{"folder", environments_folder().string()}, {"environments", environments}};
    fmt::print("{}\n", object.dump());
  } else {
    for (const InstalledEnvironment& e : found) print(e);
  }
  return kNothingFound;
}

ExitStatus remove(const std::string& name, bool json) {
  const std::uint64_t bytes = remove_environment(environments_folder(), name);
  if (json) {
    fmt::print("{}\n", Json{{"removed", name}, {"bytes", bytes}}.dump());
  } else {
    fmt::print("{} removed, {:.1f} GB\n", name, static_cast<double>(bytes) / kGigabyte);
  }
  return kNothingFound;
}

}  // namespace

void add_env(CLI::App& app, Action& action) {
  struct Options {
    std::vector<std::string> words;
    std::string name;
    std::string python;
    double limit = 24;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("env",
                         "Other releases of torch: add, list, remove environments\n\n"
                         "  1. ulpfuzz env add torch==2.15.0\n"
                         "  2. ulpfuzz judge CASE --systems inductor,inductor@torch-2.15.0");
  command->require_subcommand(1);

  CLI::App* adding = command->add_subcommand("add", "Install an environment from PyPI");
  adding->add_option("NAME|SPEC", o->words, "[NAME] torch==VERSION [PACKAGE==VERSION ...]")
      ->required();
  adding->add_option("--limit", o->limit, "GB on disk of all environments together")
      ->capture_default_str();
  adding->add_option("--python", o->python, "Interpreter to make it with (default: the project's)");
  CLI::App* listing = command->add_subcommand("list", "Say which there are");
  CLI::App* removing = command->add_subcommand("remove", "Delete one");
  removing->add_option("NAME", o->name, "As `list` says it")->required();
  for (CLI::App* one : {adding, listing, removing}) {
    one->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  }
  adding->callback(
      [o, &action] { action = [o] { return add(o->words, o->python, o->limit, o->json); }; });
  listing->callback([o, &action] { action = [o] { return list(o->json); }; });
  removing->callback([o, &action] { action = [o] { return remove(o->name, o->json); }; });
}

}  // namespace ulpfuzz
