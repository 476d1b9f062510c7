#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bisect/stages.h"
#include "bisect/versions.h"
#include "cli/command.h"
#include "ir/error.h"
#include "ops/table.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

using Json = nlohmann::json;

struct Options {
  SystemOptions systems;
  std::string named;
  std::string store = "ulpfuzz-store";
  std::string versions;
  bool stages = false;
  bool keep = false;
  double limit = 24;
  JudgingOptions judging;
  bool json = false;
};

std::string_view name(Answer answer) {
  switch (answer) {
    case Answer::kPasses:
      return "passes";
    case Answer::kFails:
      return "fails";
    case Answer::kUntestable:
      return "untestable";
  }
  return "";
}

Json json_of(const Probed& p) {
  return {{"answer", name(p.answer)}, {"verdict", p.verdict}, {"torch", p.torch}};
}

ExitStatus by_stages(const Options& o, const Case& c, const SystemSpec& system, Probe& probe,
                     Scheduler& scheduler) {
  const StagesFound found = bisect_stages(system, probe, scheduler);
  const bool fails = found.answers.back().probed.answer == Answer::kFails;
  if (o.json) {
    Json rows = Json::array();
    for (const StageAnswer& a : found.answers) {
      rows.push_back(json_of(a.probed));
      rows.back().update({{"stage", a.stage->name}, {"system", to_string(a.system)}});
    }
    fmt::print("{}\n", Json{{"case", hashes(c).whole},
                            {"system", to_string(system)},
                            {"finding", fails ? to_string(*probe.wanted()) : ""},
                            {"stage", found.first != nullptr ? found.first->name : ""},
                            {"passes", found.passes != nullptr ? found.passes->name : ""},
                            {"monotone", found.monotone},
                            {"stages", rows}}
                           .dump());
    return fails ? kFound : kNothingFound;
  }
  for (const StageAnswer& a : found.answers) {
    fmt::print("{:<19} {:<11} {:<28} {}\n", a.stage->name, name(a.probed.answer), a.probed.verdict,
               a.stage->meaning);
  }
  if (!fails) {
    fmt::print("{} does not fail: nothing to look for\n", to_string(system));
    return kNothingFound;
  }
  if (found.first == nullptr) {
    fmt::print("every stage that can be tested fails\n");
  } else {
    fmt::print("begins with {} ({}), passes with {}{}\n", found.first->name, found.first->meaning,
               found.passes->name,
               found.monotone ? "" : "; a later stage hides it: it passes again there");
  }
  return kFound;
}

ExitStatus by_versions(const Options& o, const Case& c, const SystemSpec& system, Probe& probe) {
  VersionOptions how;
  how.python = project_python("", "bisect");
  how.limit_bytes = static_cast<std::uint64_t>(o.limit * (1 << 30));
  how.keep = o.keep;
  how.stopped = [] { return stop_requested().load(); };
  how.progress = [](const std::string& what) { fmt::print(stderr, "{}\n", what); };
  how.scheduler = o.systems.scheduler();
  const auto versions =
      parse_versions(o.versions, [&how] { return available_releases(how.python); });
  const VersionsFound found = bisect_versions(system, versions, probe, op_table(), how);
  const auto& change = found.search.change;
  const bool fails = change || found.search.throughout.value_or(Answer::kPasses) == Answer::kFails;
  if (o.json) {
    Json rows = Json::array();
    for (const VersionAnswer& a : found.answers) {
      rows.push_back(json_of(a.probed));
      rows.back()["version"] = a.version;
    }
    Json object{{"case", hashes(c).whole},
                {"system", to_string(system)},
                {"finding", probe.wanted() ? to_string(*probe.wanted()) : ""},
                {"versions", found.versions},
                {"answers", rows},
                {"before", change ? found.versions[change->before] : ""},
                {"after", change ? found.versions[change->after] : ""},
                {"begins", change ? Json(change->begins) : Json()}};
    fmt::print("{}\n", object.dump());
    return fails ? kFound : kNothingFound;
  }
  for (std::size_t i = 0; i < found.versions.size(); ++i) {
    const auto asked = std::ranges::find(found.answers, found.versions[i], &VersionAnswer::version);
    if (asked == found.answers.end()) continue;
    fmt::print("torch {:<8} {:<11} {}\n", asked->version, name(asked->probed.answer),
               asked->probed.verdict);
  }
  if (change) {
    const auto& before = found.versions[change->before];
    const auto& after = found.versions[change->after];
    fmt::print(fmt::runtime(change->begins ? "last good: torch {}, first bad: torch {}\n"
                                           : "last bad: torch {}, first good: torch {}\n"),
               before, after);
    if (change->after - change->before > 1) {
      fmt::print("of {} releases between them none can be tested\n",
                 change->after - change->before - 1);
    }
  } else if (found.search.throughout) {
    fmt::print("every release that was asked {}\n", name(*found.search.throughout));
  } else {
    fmt::print("no release can be tested\n");
    return kUndecidedResult;
  }
  return fails ? kFound : kNothingFound;
}

ExitStatus run(const Options& o) {
  if (o.stages == !o.versions.empty()) {
    throw Error("bisect", "needs --versions RANGE or --stages, and not both");
  }
  const std::vector<SystemSpec> systems = o.systems.parsed();
  if (systems.size() != 1) throw Error("--systems", "bisect looks at one system");
  const SystemSpec& system = systems.front();
  if (o.stages) stages_of(system);  // a system without stages is refused before anything runs
  Scheduler scheduler(op_table(), o.systems.scheduler());
  const Case c =
      o.systems.placed(find_case(o.named, o.store, scheduler, o.systems.capture_fault()));
  Probe probe(c, std::nullopt, o.judging.of({}), op_table());
  return o.stages ? by_stages(o, c, system, probe, scheduler) : by_versions(o, c, system, probe);
}

}  // namespace

void add_bisect(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bisect",
      "Which release of torch, or which stage of the compiler, brought a finding\n\n"
      "  1. ulpfuzz bisect CASE --versions 2.9.0..2.15.0\n"
      "  2. ulpfuzz bisect CASE --stages");
  command->add_option("CASE", o->named, "Case file, finding folder, or finding id")->required();
  command->add_option("--versions", o->versions,
                      "Releases: 2.9.0..2.15.0, all that there are, or 2.9.1,2.11.0");
  command->add_flag("--stages", o->stages, "Stages of the compiler, by its own switches");
  command->add_flag("--keep", o->keep, "Keep environments that are installed for this");
  command->add_option("--limit", o->limit, "GB of disk for all environments together")
      ->capture_default_str();
  o->judging.add_to(*command);
  command->add_option("--store", o->store, "Folder of the store")->capture_default_str();
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  o->systems.add_device_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
