#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "judge/tolerance.h"
#include "ops/table.h"
#include "report/nearness_text.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

struct Options {
  SystemOptions systems;
  std::string named;
  std::string store = "ulpfuzz-store";
  int seeds = 32;
  double rate = 1e-3;
  bool json = false;
};

// How many of a system's runs fail a check against eager.
struct Count {
  std::string system;
  int sets = 0, suggested = 0, usual = 0;
};
using Counts = std::map<std::string, std::vector<Count>>;  // by tensor

Counts count(const Case& c, const std::vector<Tolerance>& tolerances,
             const std::vector<SystemSpec>& systems, const Options& o, Scheduler& scheduler) {
  std::vector<RunRequest> requests;
  std::vector<std::uint64_t> sets;  // others than the tolerance was found with
  for (int i = 0; i < o.seeds; ++i) sets.push_back(static_cast<std::uint64_t>(o.seeds + i));
  requests.push_back({c, parse_system("eager@py"), sets});
  for (const SystemSpec& system : systems) {
    requests.push_back({asked_of(system, c), system, sets});
  }
  const std::vector<Run> runs = scheduler.run(requests, Company::kStock);
  Counts counts;
  for (std::size_t s = 1; s < runs.size(); ++s) {
    for (const Tolerance& tolerance : tolerances) {
      Count one{to_string(requests[s].system)};
      for (std::size_t x = 0; x < sets.size(); ++x) {
        if (x >= runs[s].executions.size() || x >= runs[0].executions.size()) continue;
        const TensorResult* actual = runs[s].executions[x].find(tolerance.tensor);
        const TensorResult* expected = runs[0].executions[x].find(tolerance.tensor);
        if (actual == nullptr || expected == nullptr) continue;
        ++one.sets;
        one.suggested += !passes(*actual, *expected, tolerance.suggested);
        one.usual += !passes(*actual, *expected, tolerance.usual);
      }
      counts[tolerance.tensor].push_back(one);
    }
  }
  return counts;
}

nlohmann::json json_of(const Tolerance& t, const std::vector<Count>& counts) {
  nlohmann::json systems = nlohmann::json::array();
  for (const Count& one : counts) {
    systems.push_back({{"system", one.system},
                       {"input_sets", one.sets},
                       {"fail_suggested", one.suggested},
                       {"fail_usual", one.usual}});
  }
  return {
      {"tensor", t.tensor},         {"dtype", name(t.dtype)},     {"rtol", t.suggested.rtol},
      {"atol", t.suggested.atol},   {"usual_rtol", t.usual.rtol}, {"usual_atol", t.usual.atol},
      {"usual_rate", t.usual_rate}, {"pairs", t.pairs},           {"systems", std::move(systems)}};
}

void print(const std::vector<Tolerance>& tolerances, const Counts& counts, const Case& c,
           const Options& o) {
  fmt::print(
      "assert_close(compiled, eager), false alarms at a rate of {:g} a tensor, from legal "
      "executions\n"
      "on {} input sets; beside it what torch.testing takes by the dtype of the result, and its "
      "rate:\n",
      o.rate, o.seeds);
  fmt::print("  {:<44} {:<9} {:>9} {:>9}   {:>9} {:>9} {:>7}\n", "tensor", "dtype", "rtol", "atol",
             "torch's", "atol", "rate");
  for (const Tolerance& t : tolerances) {
    fmt::print("  {:<44} {:<9} {:>9.2g} {:>9.2g}   {:>9.2g} {:>9.2g} {:>6.1f}%\n",
               named_tensor(t.tensor, c), name(t.dtype), t.suggested.rtol, t.suggested.atol,
               t.usual.rtol, t.usual.atol, 100 * t.usual_rate);
  }
  std::map<std::string, Count> totals;
  for (const auto& [tensor, list] : counts) {
    for (const Count& one : list) {
      Count& total = totals[one.system];
      total.sets += one.sets, total.suggested += one.suggested, total.usual += one.usual;
    }
  }
  for (const auto& [system, total] : totals) {
    fmt::print("{}, on {} other input sets: {} of {} checks fail with these, {} with torch's\n",
               system, o.seeds, total.suggested, total.sets, total.usual);
    for (const Tolerance& t : tolerances) {
      for (const Count& one : counts.at(t.tensor)) {
        if (one.system != system || one.suggested + one.usual == 0) continue;
        fmt::print("  {:<44} {:>4} of {} with these, {:>4} with torch's\n",
                   named_tensor(t.tensor, c), one.suggested, one.sets, one.usual);
      }
    }
  }
}

ExitStatus run(const Options& o) {
  Scheduler scheduler(op_table(), o.systems.scheduler());
  const Case c =
      o.systems.placed(find_case(o.named, o.store, scheduler, o.systems.capture_fault()));
  const std::vector<SystemSpec> systems = o.systems.parsed();
  const std::vector<Tolerance> found = tolerances(c, op_table(), {o.seeds, o.rate});
  const Counts counts = count(c, found, systems, o, scheduler);
  if (o.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Tolerance& t : found) list.push_back(json_of(t, counts.at(t.tensor)));
    const nlohmann::json object{{"case", hashes(c).whole},
                                {"rate", o.rate},
                                {"input_sets", o.seeds},
                                {"tolerances", std::move(list)}};
    fmt::print("{}\n", object.dump());
  } else {
    print(found, counts, c, o);
  }
  return found.empty() ? kUndecidedResult : kNothingFound;
}

}  // namespace

void add_tolerance(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "tolerance", "The rtol and atol that a test of this case should use, beside torch's own");
  command->add_option("CASE", o->named, "Case file, finding folder, or finding id")->required();
  command->add_option("--seeds", o->seeds, "Input sets, and as many others to try it on")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
  command->add_option("--rate", o->rate, "False alarms of one tensor's check, a test run")
      ->capture_default_str()
      ->check(CLI::Range(1e-9, 0.5));
  command->add_option("--store", o->store, "Folder of the store")->capture_default_str();
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  o->systems.add_device_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
