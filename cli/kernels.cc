#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "fuzz/kernel_choice.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

struct Options {
  SystemOptions systems;
  std::string named;
  std::string store = "ulpfuzz-store";
  bool json = false;
};

std::string text(const std::vector<SdpaKernel>& kernels) {
  std::string list;
  for (const SdpaKernel kernel : kernels) {
    list += (list.empty() ? "" : ", ") + std::string(name(kernel));
  }
  return list;
}

std::string text(const KernelChoiceCell& cell) {
  std::string said = cell.completed ? text(cell.forward) : "did not run";
  if (cell.completed && !cell.backward.empty()) said += " / " + text(cell.backward);
  if (is_finding(cell.verdict)) said += fmt::format("; **{}**", name(cell.verdict));
  return said;
}

void print(const std::vector<KernelChoiceRow>& rows) {
  if (rows.empty()) return;
  fmt::print("Kernels of the forward / backward pass.\n\n| asked for |");
  for (const KernelChoiceCell& cell : rows.front().cells) fmt::print(" {} |", cell.system);
  fmt::print("\n| --- |");
  for (std::size_t i = 0; i < rows.front().cells.size(); ++i) fmt::print(" --- |");
  fmt::print("\n");
  for (const KernelChoiceRow& row : rows) {
    fmt::print("| {}{} |", text(row.choice.kernels), row.choice.set_priority ? ", in order" : "");
    for (const KernelChoiceCell& cell : row.cells) fmt::print(" {} |", text(cell));
    fmt::print("\n");
  }
  std::vector<std::string> said;
  for (const KernelChoiceRow& row : rows) {
    for (const KernelChoiceCell& cell : row.cells) {
      if (cell.detail.empty()) continue;
      said.push_back(fmt::format("{}: {}", cell.system, cell.detail));
    }
  }
  std::ranges::sort(said);
  said.erase(std::ranges::unique(said).begin(), said.end());
  for (const std::string& line : said) fmt::print("\n- {}", line);
  fmt::print("{}", said.empty() ? "" : "\n");
}

nlohmann::json json_of(const std::vector<KernelChoiceRow>& rows) {
  nlohmann::json choices = nlohmann::json::array();
  const auto names = [](const std::vector<SdpaKernel>& kernels) {
    nlohmann::json list = nlohmann::json::array();
    for (const SdpaKernel kernel : kernels) list.push_back(std::string(name(kernel)));
    return list;
  };
  for (const KernelChoiceRow& row : rows) {
    nlohmann::json systems = nlohmann::json::array();
    for (const KernelChoiceCell& cell : row.cells) {
      systems.push_back({{"system", cell.system},
                         {"completed", cell.completed},
                         {"forward", names(cell.forward)},
                         {"backward", names(cell.backward)},
                         {"verdict", std::string(name(cell.verdict))},
                         {"detail", cell.detail}});
    }
    choices.push_back({{"kernels", names(row.choice.kernels)},
                       {"set_priority", row.choice.set_priority},
                       {"systems", std::move(systems)}});
  }
  return {{"choices", std::move(choices)}};
}

ExitStatus run(const Options& o) {
  Scheduler scheduler(op_table(), o.systems.scheduler());
  const Case c = o.systems.placed(o.named.empty() ? attention_call("cpu")
                                                  : find_case(o.named, o.store, scheduler));
  const std::vector<KernelChoiceRow> rows =
      try_kernel_choices(c, o.systems.parsed(), op_table(), scheduler);
  if (o.json) {
    fmt::print("{}\n", json_of(rows).dump());
  } else {
    print(rows);
  }
  const bool found = std::ranges::any_of(rows, [](const KernelChoiceRow& row) {
    return std::ranges::any_of(
        row.cells, [](const KernelChoiceCell& cell) { return is_finding(cell.verdict); });
  });
  return found ? kFound : kNothingFound;
}

}  // namespace

void add_kernels(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "kernels", "Which attention kernel runs under every choice and order of sdpa_kernel");
  command->add_option("CASE", o->named, "Case with attention; without one a call that all take");
  command->add_option("--store", o->store, "Folder of the store")->capture_default_str();
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  o->systems.add_device_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
