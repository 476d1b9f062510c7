#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/case.h"
#include "ir/dtype.h"

namespace ulpfuzz {

// A system under test as written on the command line: `inductor[emulate_precision_casts=1]@env`.
struct SystemSpec {
  std::string name;                            // "eager@py", "eager@cpp", "inductor"
  std::map<std::string, std::string> options;  // "fault" plants a fault, for tests
  std::string environment;                     // "" : the project's own .venv
  auto operator<=>(const SystemSpec&) const = default;
};
SystemSpec parse_system(std::string_view text);  // throws Error
std::string to_string(const SystemSpec& system);
std::vector<SystemSpec> parse_systems(std::string_view list);  // comma-separated

// A wish: run one case on one system, with one or more input sets.
struct RunRequest {
  Case test;  // lowered; symbols may be unbound
  SystemSpec system;
  std::vector<std::uint64_t> input_sets = {0};  // salts, ir/fill.h
  bool profile = false;                         // record which kernels ran (costs time)
  auto hash() const -> std::string;             // of all of the above
};

enum class Stage : std::uint8_t {
  kStart,
  kBuild,
  kPrime,
  kCompile,
  kForward,
  kBackward,
  kProfile,
  kEnd
};
std::string_view name(Stage stage);
std::optional<Stage> parse_stage(std::string_view name);

struct TensorLayout {
  DType dtype = DType::kFloat32;
  Shape shape;
  Shape strides;
  std::int64_t offset = 0;
  bool operator==(const TensorLayout&) const = default;
};
std::string to_string(const TensorLayout& layout);

// One tensor that came out of a system.
struct TensorResult {
  enum class Role : std::uint8_t { kOutput, kGradient, kWrittenInput };
  Role role = Role::kOutput;
  std::string name;     // "output 0", "gradient of x", "x after" : unique in an Execution
  bool present = true;  // false: a gradient that is None
  TensorLayout layout;
  std::string alias_of;  // name of the input or earlier result whose storage it shares, or ""
  // Elements in row-major order of the shape, element type as torch stores it.
  std::vector<std::byte> bytes;

  // Elements as numbers. Complex: twice as many reals.
  std::vector<double> reals() const;           // floating and complex types
  std::vector<std::int64_t> integers() const;  // integral types
};

// A tensor that a kernel took or gave.
struct KernelTensor {
  std::string name;  // as the operator's schema calls it: "query", "logsumexp"; "" without a name
  TensorLayout layout;
  bool operator==(const KernelTensor&) const = default;
};

// A kernel of interest that ran (attention, library calls), as the dispatcher reports it to
// observers. What a kernel saved for the backward pass are inputs of its backward call.
struct KernelRecord {
  std::string name;   // "aten::_scaled_dot_product_flash_attention_for_cpu"
  std::string phase;  // "forward", "backward"
  int count = 1;      // calls that took and gave tensors of exactly these layouts
  std::vector<KernelTensor> outputs = {};
  std::vector<KernelTensor> inputs = {};  // without those that are None
  bool operator==(const KernelRecord&) const = default;
};

// Results for one input set.
struct Execution {
  std::uint64_t input_set = 0;
  std::vector<TensorResult> tensors;
  const TensorResult* find(std::string_view name) const;
};

// What happened when a system ran a case. A Run is evidence: it says which stage was reached, that
// the code really was compiled, and under which switches.
struct Run {
  enum class Status : std::uint8_t {
    kCompleted,
    kRaised,       // an exception, in `stage`
    kCrashed,      // died by a signal or an exit of its own
    kHung,         // exceeded its CPU or wall limit, confirmed alone at four times the limit
    kOutOfMemory,  // exceeded its memory limit
    kNotCompiled,  // a compiler that did not compile: not evidence of anything
  };
  Status status = Status::kCompleted;
  Stage stage = Stage::kEnd;  // the last one entered
  std::string exception_type;
  std::string exception_message;
  int signal = 0;  // of a crash
  std::vector<Execution> executions;
  std::vector<KernelRecord> kernels;
  std::map<std::string, std::int64_t>
      counters;  // compile counters: "graphs", "graph_breaks", "kernels", ...
  std::map<std::string, std::string> versions;  // "torch", "python", "cpu_capability", ...
  std::map<std::string, double> cpu_seconds;    // by stage name; shared evenly by a pack
  double wall_seconds = 0;
  int packed_with = 1;      // programs compiled together, this one included
  bool has_values = true;   // false: of a system that knows layouts alone (fake@py)
  bool stock = false;       // run as a user would: alone, the compiler without shortcuts
  std::string worker_text;  // the tail of what the worker wrote to stdout and stderr

  bool completed() const { return status == Status::kCompleted; }
  double total_cpu_seconds() const;
};
std::string_view name(Run::Status status);

// JSON of a Run without tensor bytes (those are hashed), for reports and the store.
std::string to_json(const Run& run);

}  // namespace ulpfuzz
