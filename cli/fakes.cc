#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/time.h"
#include "fuzz/fake_real.h"
#include "ir/error.h"
#include "ir/python_source.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  SystemOptions systems;
  std::string only;
  int cases = 20;
  std::uint64_t seed = 0;
  std::string budget = "30s";
  std::string output;
  bool json = false;
};

std::string numbers(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "(" + text + ")";
}

// "x: float32(2, 3), strides (1, 2)", each input.
std::string inputs_of(const Case& bound) {
  std::string text;
  for (std::size_t i = 0; i < bound.program.inputs.size(); ++i) {
    Shape shape;
    for (const Dim& dim : bound.program.inputs[i].shape) shape.push_back(dim.value({}));
    const InputData& data = bound.inputs[i];
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", bound.program.inputs[i].name,
                        name(bound.program.inputs[i].dtype), numbers(shape));
    if (!data.strides.empty()) text += " strides " + numbers(data.strides);
    if (data.offset != 0) text += fmt::format(" offset {}", data.offset);
  }
  return text;
}

// The calls of a program, without the lines around them.
std::string calls_of(const Case& bound) {
  const std::string source = python_function(bound.program, op_table());
  std::string text;
  for (std::size_t at = source.find('\n'); at != std::string::npos;) {
    const std::size_t next = source.find('\n', at + 1);
    std::string line = source.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty() && !line.starts_with("return")) {
      text += (text.empty() ? "" : "; ") + line;
    }
    at = next;
  }
  return text;
}

std::string consequences_of(const FakeDifference& d) {
  std::string text;
  for (const FakeDifference::Consequence& c : d.consequences) {
    text += fmt::format("{}{}: {}, {}", text.empty() ? "" : "; ", c.system, name(c.alone),
                        name(c.among));
  }
  return text;
}

void print(const FakeRealSummary& s) {
  fmt::print("{} operators, {} cases, eager ran {}, {} of these backward too; {} need values\n\n",
             s.rows, s.cases, s.valid, s.backward, s.needs_values);
  if (s.differences.empty()) {
    fmt::print("no difference\n");
    return;
  }
  fmt::print("| operator | seen | smallest | inputs | difference | effect | compilers |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const FakeDifference& d : s.differences) {
    const Case bound = bind_symbols(d.smallest);
    fmt::print("| {} | {} | `{}` | {} | {} | {} | {} |\n", d.op, d.seen, calls_of(bound),
               inputs_of(bound), d.detail, d.effect(), consequences_of(d));
  }
}

nlohmann::json to_json(const FakeRealSummary& s) {
  nlohmann::json differences = nlohmann::json::array();
  for (const FakeDifference& d : s.differences) {
    nlohmann::json consequences = nlohmann::json::array();
    for (const FakeDifference::Consequence& c : d.consequences) {
      consequences.push_back({{"system", c.system},
                              {"alone", std::string(name(c.alone))},
                              {"among", std::string(name(c.among))}});
    }
    differences.push_back({{"op", d.op},
                           {"sort", d.sort},
                           {"detail", d.detail},
                           {"seen", d.seen},
                           {"reduced", d.reduced},
                           {"effect", d.effect()},
                           {"case", nlohmann::json::parse(ulpfuzz::to_json(d.smallest))},
                           {"consequences", consequences}});
  }
  return {{"rows", s.rows},
          {"others", s.others},
          {"cases", s.cases},
          {"valid", s.valid},
          {"backward", s.backward},
          {"needs_values", s.needs_values},
          {"differences", differences}};
}

// NAME-1.json, NAME-2.json, ...
void write_cases(const FakeRealSummary& s, const fs::path& folder) {
  fs::create_directories(folder);
  std::map<std::string, int> numbers;
  for (const FakeDifference& d : s.differences) {
    write_case((folder / fmt::format("{}-{}.json", d.op, ++numbers[d.op])).string(), d.smallest);
  }
}

ExitStatus run(const Options& o) {
  FakeRealOptions options;
  options.only = o.only;
  options.cases = o.cases;
  options.seed = o.seed;
  options.reduction_cpu_seconds = parse_time("--budget", o.budget);
  options.compilers = o.systems.systems == "none" ? std::vector<SystemSpec>() : o.systems.parsed();
  if (!o.systems.fault.empty()) {
    options.fake.options["fault"] = o.systems.fault;
    for (SystemSpec& system : options.compilers) system.options.erase("fault");
  }
  options.stopped = [] { return stop_requested().load(); };
  const bool terminal = isatty(STDERR_FILENO) != 0;
  options.progress = [&](const std::string& doing) {
    if (terminal && !o.json) fmt::print(stderr, "\r\033[K{}", doing.substr(0, 110));
  };
  Scheduler scheduler(op_table(), o.systems.scheduler());
  const FakeRealSummary summary = compare_fakes(options, op_table(), scheduler);
  if (terminal && !o.json) fmt::print(stderr, "\r\033[K");
  if (summary.rows == 0) throw Error("--only", "'" + o.only + "' names no operator that is drawn");
  if (!o.output.empty()) write_cases(summary, o.output);
  if (o.json) {
    fmt::print("{}\n", to_json(summary).dump());
  } else {
    print(summary);
  }
  return summary.differences.empty() ? kNothingFound : kFound;
}

}  // namespace

void add_fakes(CLI::App& app, Action& action) {
  auto o = std::make_shared<Options>();
  o->systems.systems = "inductor,inductor[size_asserts=0]";
  CLI::App* command = app.add_subcommand(
      "fakes",
      "Hold each operator's fake kernel (layouts that compilers believe) against the real one");
  command->add_option("--only", o->only, "Operators whose name has this (layer_norm)");
  command->add_option("--cases", o->cases, "Random cases of each operator")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command->add_option("--seed", o->seed, "Same seed, same cases")->capture_default_str();
  command->add_option("--budget", o->budget, "CPU time for reducing one difference")
      ->capture_default_str();
  command->add_option("-o,--output", o->output, "Folder for the smallest case of each difference");
  command->add_flag("--json", o->json, "One JSON object on stdout (docs/cli.md)");
  o->systems.add_to(*command);
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace ulpfuzz
