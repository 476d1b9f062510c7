#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ir/case.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "ir/json.h"
#include "ir/json_reader.h"

namespace ulpfuzz {
namespace {

constexpr int kCaseVersion = 1;
constexpr std::size_t kMaxRank = 64;  // of what is read; verify() wants less
constexpr std::size_t kMaxLiterals = std::size_t{1} << 24;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 28;

// In the order of Fill::Kind.
constexpr std::array<std::string_view, 7> kFillKinds{"normal", "uniform", "exponent", "integer",
                                                     "choice", "arange",  "literal"};

Fill::Kind read_fill_kind(const JsonReader& reader) {
  const std::string text = reader.string();
  for (std::size_t i = 0; i < kFillKinds.size(); ++i) {
    if (kFillKinds[i] == text) return static_cast<Fill::Kind>(i);
  }
  reader.fail("a fill is normal, uniform, exponent, integer, choice, arange or literal");
}

Json sdpa_json(const std::optional<SdpaChoice>& choice) {
  if (!choice) return nullptr;
  Json kernels = Json::array();
  for (const SdpaKernel kernel : choice->kernels) kernels.push_back(std::string(name(kernel)));
  return {{"kernels", kernels}, {"set_priority", choice->set_priority}};
}

std::optional<SdpaChoice> read_sdpa(const JsonReader& reader) {
  if (reader.is_null()) return std::nullopt;
  reader.only({"kernels", "set_priority"});
  SdpaChoice choice;
  for (const JsonReader& element : reader.at("kernels").elements(16)) {
    const std::optional<SdpaKernel> kernel = parse_sdpa_kernel(element.string());
    if (!kernel) {
      element.fail(
          "a kernel is MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION or "
          "OVERRIDEABLE");
    }
    choice.kernels.push_back(*kernel);
  }
  if (const auto priority = reader.find("set_priority")) choice.set_priority = priority->boolean();
  return choice;
}

Json input_json(const InputData& input) {
  return {{"strides", input.strides},
          {"offset", input.offset},
          {"alias", input.alias},
          {"fill", json_of(input.fill)}};
}

InputData read_input(const JsonReader& reader) {
  reader.only({"strides", "offset", "alias", "fill"});
  InputData input;
  if (const auto strides = reader.find("strides")) input.strides = strides->integers(kMaxRank);
  if (const auto offset = reader.find("offset")) input.offset = offset->integer();
  if (const auto alias = reader.find("alias")) {
    input.alias = static_cast<int>(alias->integer_in(-1, 4096));
  }
  const JsonReader fill = reader.at("fill");
  input.fill = fill_from(fill.json(), fill.place());
  return input;
}

Json cotangent_json(const std::optional<Cotangent>& cotangent) {
  if (!cotangent) return nullptr;
  return {{"strides", cotangent->strides}, {"fill", json_of(cotangent->fill)}};
}

std::optional<Cotangent> read_cotangent(const JsonReader& reader) {
  if (reader.is_null()) return std::nullopt;
  reader.only({"strides", "fill"});
  Cotangent cotangent;
  if (const auto strides = reader.find("strides")) cotangent.strides = strides->integers(kMaxRank);
  const JsonReader fill = reader.at("fill");
  cotangent.fill = fill_from(fill.json(), fill.place());
  return cotangent;
}

// The inputs with what the backward pass is given.
Json inputs_part(const Case& c) {
  if (c.inputs.size() != c.program.inputs.size()) {
    throw Error("/inputs", std::to_string(c.inputs.size()) + " inputs for a program with " +
                               std::to_string(c.program.inputs.size()));
  }
  Json inputs = Json::object();
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    inputs[c.program.inputs[i].name] = input_json(c.inputs[i]);
  }
  Json cotangents = Json::array();
  for (const auto& cotangent : c.cotangents) cotangents.push_back(cotangent_json(cotangent));
  return {{"inputs", inputs}, {"wrt", c.wrt}, {"cotangents", cotangents}};
}

void read_inputs_part(const JsonReader& reader, Case& c) {
  const JsonReader inputs = reader.at("inputs");
  for (const std::string& name : inputs.keys()) {
    if (c.program.find_input(name) == nullptr) {
      inputs.at(name).fail("the program has no such input");
    }
  }
  for (const ProgramInput& input : c.program.inputs) {
    c.inputs.push_back(read_input(inputs.at(input.name)));
  }
  if (const auto wrt = reader.find("wrt")) {
    for (const JsonReader& element : wrt->elements(4096)) c.wrt.push_back(element.string(256));
  }
  if (const auto cotangents = reader.find("cotangents")) {
    for (const JsonReader& element : cotangents->elements(4096)) {
      c.cotangents.push_back(read_cotangent(element));
    }
  }
}

}  // namespace

Json json_of(const Fill& fill) {
  Json values = Json::array();
  for (const double value : fill.values) values.push_back(float_bits(value));
  Json integers = Json::array();
  for (const std::int64_t value : fill.integers) integers.push_back(std::to_string(value));
  return {{"kind", std::string(kFillKinds[static_cast<std::size_t>(fill.kind)])},
          {"seed", std::to_string(fill.seed)},
          {"scale", float_bits(fill.scale)},
          {"shift", float_bits(fill.shift)},
          {"low", std::to_string(fill.low)},
          {"high", std::to_string(fill.high)},
          {"special_rate", fill.special_rate},
          {"values", values},
          {"integers", integers},
          {"grid", std::string(name(fill.grid))}};
}

Fill fill_from(const Json& json, const std::string& place) {
  const JsonReader reader(json, place);
  reader.only({"kind", "seed", "scale", "shift", "low", "high", "special_rate", "values",
               "integers", "grid"});
  Fill fill;
  fill.kind = read_fill_kind(reader.at("kind"));
  if (const auto seed = reader.find("seed")) fill.seed = seed->unsigned_integer();
  if (const auto scale = reader.find("scale")) fill.scale = scale->floating();
  if (const auto shift = reader.find("shift")) fill.shift = shift->floating();
  if (const auto low = reader.find("low")) fill.low = low->integer();
  if (const auto high = reader.find("high")) fill.high = high->integer();
  if (const auto rate = reader.find("special_rate")) {
    fill.special_rate = static_cast<int>(rate->integer_in(0, 65536));
  }
  if (const auto values = reader.find("values")) {
    for (const JsonReader& value : values->elements(kMaxLiterals)) {
      fill.values.push_back(value.floating());
    }
  }
  if (const auto integers = reader.find("integers")) {
    fill.integers = integers->integers(kMaxLiterals);
  }
  if (const auto grid = reader.find("grid")) fill.grid = grid->dtype();
  return fill;
}

Json json_of(const Environment& e) {
  return {{"device", e.device},
          {"threads", e.threads},
          {"isa", e.isa},
          {"dynamic", e.dynamic},
          {"grad", e.grad},
          {"autocast", e.autocast},
          {"allow_tf32", e.allow_tf32},
          {"reduced_precision_reduction", e.reduced_precision_reduction},
          {"flush_denormal", e.flush_denormal},
          {"deterministic", e.deterministic},
          {"rng_seed", std::to_string(e.rng_seed)},
          {"warm_caches", e.warm_caches},
          {"sdpa", sdpa_json(e.sdpa)},
          {"primed_by", sdpa_json(e.primed_by)}};
}

Environment environment_from(const Json& json, const std::string& place) {
  const JsonReader reader(json, place);
  reader.only({"device", "threads", "isa", "dynamic", "grad", "autocast", "allow_tf32",
               "reduced_precision_reduction", "flush_denormal", "deterministic", "rng_seed",
               "warm_caches", "sdpa", "primed_by"});
  Environment e;
  const auto read_bool = [&](std::string_view key, bool& field) {
    if (const auto value = reader.find(key)) field = value->boolean();
  };
  if (const auto device = reader.find("device")) e.device = device->string();
  if (const auto threads = reader.find("threads")) {
    e.threads = static_cast<int>(threads->integer_in(1, 1024));
  }
  if (const auto isa = reader.find("isa")) e.isa = isa->string();
  read_bool("dynamic", e.dynamic);
  read_bool("grad", e.grad);
  if (const auto autocast = reader.find("autocast")) e.autocast = autocast->string();
  read_bool("allow_tf32", e.allow_tf32);
  read_bool("reduced_precision_reduction", e.reduced_precision_reduction);
  read_bool("flush_denormal", e.flush_denormal);
  read_bool("deterministic", e.deterministic);
  if (const auto seed = reader.find("rng_seed")) e.rng_seed = seed->unsigned_integer();
  read_bool("warm_caches", e.warm_caches);
  if (const auto sdpa = reader.find("sdpa")) e.sdpa = read_sdpa(*sdpa);
  if (const auto primed = reader.find("primed_by")) e.primed_by = read_sdpa(*primed);
  if (e.device != "cpu" && e.device != "cuda") reader.at("device").fail("a device is cpu or cuda");
  if (e.isa != "native" && e.isa != "avx2" && e.isa != "default") {
    reader.at("isa").fail("an isa is native, avx2 or default");
  }
  if (!e.autocast.empty() && !parse_dtype(e.autocast)) {
    reader.at("autocast").fail("autocast is a dtype, or empty for off");
  }
  return e;
}

Json json_of(const Case& c) {
  Json json = {{"ulpfuzz", kCaseVersion}, {"environment", json_of(c.environment)}};
  if (c.model) json["model"] = json_of(*c.model);
  if (c.module) json["module"] = json_of(*c.module);
  if (is_lowered(c)) {
    json["program"] = json_of(c.program);
    json.update(inputs_part(c));
  }
  return json;
}

bool is_lowered(const Case& c) {
  return !has_origin(c) || !c.program.inputs.empty() || !c.program.nodes.empty() ||
         !c.program.outputs.empty();
}

Case case_from(const Json& json, const std::string& place) {
  const JsonReader reader(json, place);
  reader.only(
      {"ulpfuzz", "model", "module", "program", "inputs", "wrt", "cotangents", "environment"});
  const JsonReader version = reader.at("ulpfuzz");
  if (version.integer() != kCaseVersion) {
    version.fail("this ulpfuzz reads cases of version " + std::to_string(kCaseVersion));
  }
  Case c;
  if (const auto model = reader.find("model")) c.model = model_from(model->json(), model->place());
  if (const auto module = reader.find("module")) {
    if (c.model) module->fail("a case has a model or a module, not both");
    c.module = module_from(module->json(), module->place());
  }
  if (const auto program = reader.find("program")) {
    c.program = program_from(program->json(), program->place());
    read_inputs_part(reader, c);
  } else if (!has_origin(c)) {
    reader.fail("a 'program', a 'model' or a 'module' is needed");
  } else {
    reader.only({"ulpfuzz", "model", "module", "environment"});
  }
  if (const auto environment = reader.find("environment")) {
    c.environment = environment_from(environment->json(), environment->place());
  }
  return c;
}

CaseHashes hashes(const Case& c) {
  const Json program = is_lowered(c) ? json_of(c.program)
                       : c.model     ? json_of(*c.model)
                                     : json_of(*c.module);
  return {sha256_hex(canonical(program)), sha256_hex(canonical(inputs_part(c))),
          sha256_hex(canonical(json_of(c.environment))), sha256_hex(canonical(json_of(c)))};
}

std::string to_json(const Case& c) { return canonical(json_of(c)); }
std::string to_pretty_json(const Case& c) { return pretty(json_of(c)); }

Case case_from_json(std::string_view text, const std::string& place) {
  return case_from(parse_json(text, place), pointer_root(place));
}

Case read_case(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw Error(path, "cannot be read: " + error.message());
  if (size > kMaxFileBytes) throw Error(path, "too large for a case");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(path, "cannot be read");
  return case_from_json(text.str(), path);
}

void write_case(const std::string& path, const Case& c) {
  std::ofstream file(path, std::ios::binary);
  file << to_pretty_json(c);
  file.close();
  if (!file) throw Error(path, "cannot be written");
}

Case bind_symbols(const Case& c) {
  Case bound = c;
  bound.program = bind_symbols(c.program);
  return bound;
}

}  // namespace ulpfuzz
