#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/environment.h"
#include "ir/fill.h"
#include "ir/program.h"

namespace ulpfuzz {

// A model family's configuration: what the Program is built from (generators/family.h).
struct ModelConfig {
  std::string family;  // "qwen2"
  std::map<std::string, std::variant<bool, std::int64_t, double, std::string>> fields;
  bool operator==(const ModelConfig&) const = default;
};

using ConfigValue = decltype(ModelConfig::fields)::mapped_type;

// A library's own module: which, of what configuration, and how it is called (ir/modules.h has the
// modules and fields that there are; docs/modules.md).
struct ModuleConfig {
  std::string module;                         // "transformers.Qwen2ForCausalLM"
  std::map<std::string, ConfigValue> config;  // of its configuration class; others: its defaults
  std::string dtype = "float32";              // module.to(dtype), buffers too
  std::int64_t batch = 1;
  std::int64_t length = 1;  // tokens of a sequence
  // Outputs: the loss, then the logits; without labels the logits alone. The gradients, by all
  // parameters, come from the first of them.
  bool labels = false;
  bool gradients = true;
  std::uint64_t seed = 0;  // of parameters and tokens
  // Parameters are what the library draws under torch.manual_seed(seed), literals of the captured
  // case (so of at most 2^20 elements) and the same on every input set. Else they are fills.
  bool library_init = false;
  bool operator==(const ModuleConfig&) const = default;
};

// Where the elements of an input lie in memory, and what they are.
struct InputData {
  std::vector<std::int64_t> strides = {};  // in elements; empty: contiguous
  std::int64_t offset = 0;                 // of the first element, in elements of its storage
  // Inputs of one class >= 0 share a storage (same dtype); the first one's fill holds.
  int alias = -1;
  Fill fill = {};
  bool operator==(const InputData&) const = default;
};

// The gradient that flows into one floating output.
struct Cotangent {
  std::vector<std::int64_t> strides = {};  // empty: contiguous; 0 strides: expanded
  Fill fill = {};
  bool operator==(const Cotangent&) const = default;
};

// One thing to try: a program, its inputs, and the circumstances. A Case is data: reading one runs
// no code. What is expected of it lies beside it (NAME.expect.json), never inside.
//
// Either `program` and `inputs` are given, or only `model`, from which generators::lower makes
// them, or only `module`, whose forward pass is captured (systems/capture.h). A lowered Case keeps
// `model` as a note of its origin, and `module` as what Python systems run in place of `program`,
// with parameters and buffers from the inputs of their names (dots are underscores).
struct Case {
  std::optional<ModelConfig> model = {};
  std::optional<ModuleConfig> module = {};
  Program program = {};
  std::vector<InputData> inputs = {};  // one for each program.inputs, in order
  std::vector<std::string> wrt = {};   // inputs to differentiate by; empty: forward only
  // One for each program.outputs; absent for outputs that take no part in the backward pass.
  std::vector<std::optional<Cotangent>> cotangents = {};
  Environment environment = {};

  bool operator==(const Case&) const = default;
};

// It has a program: no `model` or `module` that is still to be lowered.
bool is_lowered(const Case& c);
// Its program is what a model or module builds, so that no pass may edit it.
inline bool has_origin(const Case& c) { return c.model || c.module; }

// SHA-256 in hex of the canonical JSON (RFC 8785) of a part of the case.
struct CaseHashes {
  std::string program;
  std::string inputs;
  std::string environment;
  std::string whole;
};
CaseHashes hashes(const Case& c);

// Canonical JSON: keys sorted, no spaces, integers beyond 2^53 and all int64 literals as strings,
// floats as hex of their IEEE bits. Throws Error with a JSON pointer.
std::string to_json(const Case& c);
std::string to_pretty_json(const Case& c);  // the same object, indented, for people and diffs
Case case_from_json(std::string_view text, const std::string& place);
Case read_case(const std::string& path);
void write_case(const std::string& path, const Case& c);

// The same case with every size a number (what a system is sent).
Case bind_symbols(const Case& c);

}  // namespace ulpfuzz
