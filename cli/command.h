#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "ir/case.h"
#include "ir/verdict.h"
#include "judge/judge.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

enum ExitStatus : int {
  kNothingFound = 0,
  kFound = 1,
  kBadInput = 2,
  kUndecidedResult = 3,
  kUnavailable = 4,
};

// What the chosen command will do: set while arguments are parsed, called afterwards.
using Action = std::function<ExitStatus()>;

void add_fuzz(CLI::App& app, Action& action);
void add_judge(CLI::App& app, Action& action);
void add_tolerance(CLI::App& app, Action& action);
void add_minimize(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_bisect(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_fakes(CLI::App& app, Action& action);
void add_kernels(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_env(CLI::App& app, Action& action);

// Options that several commands share.
struct SystemOptions {
  std::string systems = "inductor";
  std::string fault;  // planted into the last system named
  int jobs = 0;
  std::string cpu_limit = "60s";  // of one case
  std::string device;             // "cpu", "cuda"; empty: the case's own
  void add_to(CLI::App& command);
  void add_device_to(CLI::App& command);  // for commands that run one case
  bool given() const { return option_ != nullptr && option_->count() > 0; }  // by the user
  std::vector<SystemSpec> parsed() const;  // with the fault, unless it goes into captures
  std::string capture_fault() const;       // "" or a fault of captures (systems/capture.h)
  SchedulerOptions scheduler() const;
  // The case as it is to be run.
  Case placed(Case c) const;

 private:
  const CLI::Option* option_ = nullptr;  // --systems
};

// To what a command holds the systems of one case.
struct JudgingOptions {
  bool no_values = false;
  std::string relations = "none";
  CLI::Option* add_to(CLI::App& command);  // --no-values, which is returned, and --relations
  JudgeOptions of(std::vector<SystemSpec> systems) const;
};

// A case as users name one: a JSON file, a folder of a finding, the id of a finding in `store`, or
// what libFuzzer wrote beside a program (kernels/artifact.h).
// Model cases come lowered; modules are captured on `scheduler`. Throws Error.
Case find_case(const std::string& named, const std::filesystem::path& store, Scheduler& scheduler,
               const std::string& capture_fault = "");

// The worst verdict decides: a finding, then undecided, then nothing.
ExitStatus status_of(const std::vector<Verdict>& verdicts);

// False until the user presses Ctrl-C (or SIGTERM comes); the first time asks for a clean stop.
const std::atomic<bool>& stop_requested();

}  // namespace ulpfuzz
