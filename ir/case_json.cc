#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ir/case.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"

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

void write(JsonWriter& out, const std::optional<SdpaChoice>& choice) {
  if (!choice) return out.null();
  out.begin_object();
  out.key("kernels").list(choice->kernels, [&](SdpaKernel kernel) { out.string(name(kernel)); });
  out.key("set_priority").boolean(choice->set_priority);
  out.end_object();
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

void write(JsonWriter& out, const InputData& input) {
  out.begin_object();
  out.key("alias").integer(input.alias);
  write(out.key("fill"), input.fill);
  out.key("offset").integer(input.offset);
  out.key("strides").list(input.strides, [&](std::int64_t s) { out.integer(s); });
  out.end_object();
}

InputData read_input(const JsonReader& reader) {
  reader.only({"strides", "offset", "alias", "fill"});
  InputData input;
  if (const auto strides = reader.find("strides")) input.strides = strides->integers(kMaxRank);
  if (const auto offset = reader.find("offset")) input.offset = offset->integer();
  if (const auto alias = reader.find("alias")) {
    input.alias = static_cast<int>(alias->integer_in(-1, 4096));
  }
  input.fill = fill_from(reader.at("fill"));
  return input;
}

void write(JsonWriter& out, const std::optional<Cotangent>& cotangent) {
  if (!cotangent) return out.null();
  out.begin_object();
  write(out.key("fill"), cotangent->fill);
  out.key("strides").list(cotangent->strides, [&](std::int64_t s) { out.integer(s); });
  out.end_object();
}

std::optional<Cotangent> read_cotangent(const JsonReader& reader) {
  if (reader.is_null()) return std::nullopt;
  reader.only({"strides", "fill"});
  Cotangent cotangent;
  if (const auto strides = reader.find("strides")) cotangent.strides = strides->integers(kMaxRank);
  cotangent.fill = fill_from(reader.at("fill"));
  return cotangent;
}

void write_inputs(JsonWriter& out, const Case& c) {
  if (c.inputs.size() != c.program.inputs.size()) {
    throw Error("/inputs", std::to_string(c.inputs.size()) + " inputs for a program with " +
                               std::to_string(c.program.inputs.size()));
  }
  std::map<std::string_view, const InputData*> by_name;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    by_name[c.program.inputs[i].name] = &c.inputs[i];
  }
  out.begin_object();
  for (const auto& [name, input] : by_name) write(out.key(name), *input);
  out.end_object();
}

void write_cotangents(JsonWriter& out, const Case& c) {
  out.list(c.cotangents, [&](const auto& cotangent) { write(out, cotangent); });
}

void write_wrt(JsonWriter& out, const Case& c) {
  out.list(c.wrt, [&](const std::string& input) { out.string(input); });
}

// The inputs with what the backward pass is given.
std::string inputs_text(const Case& c) {
  JsonWriter out;
  out.begin_object();
  write_cotangents(out.key("cotangents"), c);
  write_inputs(out.key("inputs"), c);
  write_wrt(out.key("wrt"), c);
  out.end_object();
  return out.take();
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

void write(JsonWriter& out, const Fill& fill) {
  out.begin_object();
  out.key("grid").string(name(fill.grid));
  out.key("high").digits(fill.high);
  out.key("integers").list(fill.integers, [&](std::int64_t value) { out.digits(value); });
  out.key("kind").string(kFillKinds[static_cast<std::size_t>(fill.kind)]);
  out.key("low").digits(fill.low);
  out.key("scale").bits(fill.scale);
  out.key("seed").digits(fill.seed);
  out.key("shift").bits(fill.shift);
  out.key("special_rate").integer(fill.special_rate);
  out.key("values").list(fill.values, [&](double value) { out.bits(value); });
  out.end_object();
}

Json json_of(const Fill& fill) { return Json::parse(canonical_text(fill)); }

Fill fill_from(const JsonReader& reader) {
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

void write(JsonWriter& out, const Environment& e) {
  out.begin_object();
  out.key("allow_tf32").boolean(e.allow_tf32);
  out.key("autocast").string(e.autocast);
  out.key("deterministic").boolean(e.deterministic);
  out.key("device").string(e.device);
  out.key("dynamic").boolean(e.dynamic);
  out.key("flush_denormal").boolean(e.flush_denormal);
  out.key("grad").boolean(e.grad);
  out.key("isa").string(e.isa);
  write(out.key("primed_by"), e.primed_by);
  out.key("reduced_precision_reduction").boolean(e.reduced_precision_reduction);
  out.key("rng_seed").digits(e.rng_seed);
  write(out.key("sdpa"), e.sdpa);
  out.key("threads").integer(e.threads);
  out.key("warm_caches").boolean(e.warm_caches);
  out.end_object();
}

Json json_of(const Environment& e) { return Json::parse(canonical_text(e)); }

Environment environment_from(const JsonReader& reader) {
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

void write(JsonWriter& out, const Case& c) {
  const bool lowered = is_lowered(c);
  out.begin_object();
  if (lowered) write_cotangents(out.key("cotangents"), c);
  write(out.key("environment"), c.environment);
  if (lowered) write_inputs(out.key("inputs"), c);
  if (c.model) write(out.key("model"), *c.model);
  if (c.module) write(out.key("module"), *c.module);
  if (lowered) write(out.key("program"), c.program);
  out.key("ulpfuzz").integer(kCaseVersion);
  if (lowered) write_wrt(out.key("wrt"), c);
  out.end_object();
}

Json json_of(const Case& c) { return Json::parse(canonical_text(c)); }

bool is_lowered(const Case& c) {
  return !has_origin(c) || !c.program.inputs.empty() || !c.program.nodes.empty() ||
         !c.program.outputs.empty();
}

Case case_from(const JsonReader& reader) {
  reader.only(
      {"ulpfuzz", "model", "module", "program", "inputs", "wrt", "cotangents", "environment"});
  const JsonReader version = reader.at("ulpfuzz");
  if (version.integer() != kCaseVersion) {
    version.fail("this ulpfuzz reads cases of version " + std::to_string(kCaseVersion));
  }
  Case c;
  if (const auto model = reader.find("model")) c.model = model_from(*model);
  if (const auto module = reader.find("module")) {
    if (c.model) module->fail("a case has a model or a module, not both");
    c.module = module_from(*module);
  }
  if (const auto program = reader.find("program")) {
    c.program = program_from(*program);
    read_inputs_part(reader, c);
  } else if (!has_origin(c)) {
    reader.fail("a 'program', a 'model' or a 'module' is needed");
  } else {
    reader.only({"ulpfuzz", "model", "module", "environment"});
  }
  if (const auto environment = reader.find("environment")) {
    c.environment = environment_from(*environment);
  }
  return c;
}

CaseHashes hashes(const Case& c) {
  const std::string program = is_lowered(c) ? canonical_text(c.program)
                              : c.model     ? canonical_text(*c.model)
                                            : canonical_text(*c.module);
  return {sha256_hex(program), sha256_hex(inputs_text(c)),
          sha256_hex(canonical_text(c.environment)), sha256_hex(canonical_text(c))};
}

std::string to_json(const Case& c) { return canonical_text(c); }
std::string to_pretty_json(const Case& c) { return pretty(json_of(c)); }

Case case_from_json(std::string_view text, const std::string& place) {
  return case_from({parse_json(text, place), pointer_root(place)});
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
