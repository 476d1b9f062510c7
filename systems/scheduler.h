#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/op_row.h"
#include "ir/run.h"
#include "systems/limits.h"

namespace ulpfuzz {

struct SchedulerOptions {
  int jobs = 0;   // workers at work at the same time; 0: the number of cores
  int pack = 16;  // programs compiled together at most
  // Of one item. A pack gets an eighth more CPU time for each further item, not the sum: one that
  // needs longer is split, which loses less time than waiting for a hang among many.
  Limits limits = {};
  // Interpreter with torch; empty: ULPFUZZ_PYTHON, else .venv beside the binary's tree.
  std::string python = {};
  bool cache = true;  // answers a request that was already run from memory
};

// The company in which a request is run. What is seen in a cheaper one is seen again in kStock
// before it is reported.
enum class Company : std::uint8_t {
  kPacked,  // several programs in one compilation
  kSingle,  // a program alone, its kernels in one call of the C++ compiler
  kStock,   // a program alone, compiled exactly as a user's is
};

// What a campaign reports of the time spent.
struct SchedulerUsage {
  double system_cpu_seconds = 0;   // of workers and what they started
  double system_wall_seconds = 0;  // time during which at least one system was at work
  std::int64_t requests = 0;
  std::int64_t cached = 0;
  std::int64_t runs = 0;      // requests that went to a worker
  std::int64_t repacked = 0;  // items run again alone after their pack failed
};

// The one place where systems are run: groups requests by system and environment into packs, runs
// them on warm workers within limits, runs the items of a failed pack alone, confirms hangs, and
// remembers results by content.
//
// Deterministic: the answer to a request does not depend on what it was packed with, or the request
// is run alone (a finding is always confirmed as kStock).
class Scheduler {
 public:
  Scheduler(const OpTable& table, SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // One Run a request, in order. Blocks. Throws NotAvailable when a named system cannot be had.
  // Thread-safe.
  std::vector<Run> run(std::span<const RunRequest> requests, Company company = Company::kPacked);

  // The case with the program of its module, see systems/capture.h. Blocks. Throws NotAvailable
  // when the library cannot be had. Thread-safe.
  Case capture(const Case& c, const std::string& fault = "");

  // What the Python host answers to a request that is no run (PROTOCOL.md): the text of its result.
  // `message` is given the request's id and the limits; `system` names the host's environment.
  // Blocks. Throws Error at `place` when there is no answer, NotAvailable when there is no host.
  // Thread-safe.
  std::string ask_host(const std::string& place,
                       const std::function<std::string(std::int64_t, const Limits&)>& message,
                       const SystemSpec& system = {"eager@py", {}, ""});

  // Answers no request from memory any more that was run before: what is asked again is run again.
  void forget();

  // Makes run() return early: requests that have not started come back with status kRaised and
  // exception_type "Stopped", and so do those under way: their workers are killed. Safe to call
  // from a signal handler's thread.
  void stop();

  SchedulerUsage usage() const;

  // What `doctor` prints of a system: versions, or why it is not available.
  struct SystemInfo {
    SystemSpec system;
    bool available = false;
    std::string why_not;
    std::map<std::string, std::string> versions;
  };
  SystemInfo info(const SystemSpec& system);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The systems that exist, for help texts and checks.
struct SystemKind {
  std::string_view name;    // "inductor"
  std::string_view worker;  // "python", "libtorch"
  bool compiles;            // must prove a compile
  std::string_view meaning;
  // The worker that runs what `worker` made: a package that the scheduler hands over. "": itself.
  std::string_view runner = {};
  bool differentiates = true;  // has a backward pass; see asked_of in kinds.h
  bool has_values = true;      // false: layouts alone
  bool rounds_all = false;     // every intermediate has its nominal dtype, as in eager mode
};
std::span<const SystemKind> system_kinds();

}  // namespace ulpfuzz
