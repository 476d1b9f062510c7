#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "ir/error.h"

int main(int argc, char** argv) {
  using namespace ulpfuzz;
  CLI::App app{
      "Is a compiled result wrong, or merely different?\n\n"
      "  1. ulpfuzz fuzz --time 120s       look for faults; findings go to ulpfuzz-store/\n"
      "  2. ulpfuzz show FINDING           read the smallest program that shows one\n"
      "  3. ulpfuzz judge FINDING          every system against the exact value\n"
      "  4. ulpfuzz import SOURCE          make a case of a configuration of your own\n"
      "     ulpfuzz minimize CASE          reduce it for a bug report\n"
      "     ulpfuzz bisect CASE            the release, or the stage, that brought it\n"
      "  5. ulpfuzz replay corpus/         in CI: newly broken, newly fixed\n\n"
      "Exit status: 0 nothing found, 1 a finding, 2 bad usage or input, 3 undecided,\n"
      "4 a named system is not available."};
  app.name("ulpfuzz");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ulpfuzz 0.1.0");
  Action action;
  add_fuzz(app, action);
  add_judge(app, action);
  add_tolerance(app, action);
  add_minimize(app, action);
  add_replay(app, action);
  add_bisect(app, action);
  add_import(app, action);
  add_show(app, action);
  add_fakes(app, action);
  add_kernels(app, action);
  add_calibrate(app, action);
  add_doctor(app, action);
  add_env(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kNothingFound : kBadInput;
  }
  try {
    return action();
  } catch (const NotAvailable& e) {
    fmt::print(stderr, "ulpfuzz: {}\n", e.what());
    return kUnavailable;
  } catch (const std::exception& e) {
    fmt::print(stderr, "ulpfuzz: {}\n", e.what());
    return kBadInput;
  }
}
