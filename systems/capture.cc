#include "systems/capture.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "generators/draw.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kLongestContent = std::size_t{32} << 20;  // hex digits
constexpr double kUsualRange = 0.02;                            // of a library's initialisation

// FNV-1a, so that an input keeps its elements when other inputs come or go.
std::uint64_t hash_name(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

Fill seeded(const ModuleConfig& module, const std::string& name) {
  Fill fill;
  fill.seed = Random(module.seed).fork(hash_name(name)).bits();
  return fill;
}

Fill normal(const ModuleConfig& module, const std::string& name, double scale) {
  Fill fill = seeded(module, name);
  fill.scale = scale;
  fill.grid = *parse_dtype(module.dtype);
  return fill;
}

Fill tokens(const ModuleConfig& module, const std::string& name, std::int64_t count) {
  Fill fill = seeded(module, name);
  fill.kind = Fill::Kind::kInteger;
  fill.high = count - 1;
  return fill;
}

// Matrices and biases as the library draws them, though not all alike: by a bell curve. Norms near
// to one.
Fill parameter(const ModuleConfig& module, const ProgramInput& input) {
  const auto given = module.config.find("initializer_range");
  const double* range =
      given == module.config.end() ? nullptr : std::get_if<double>(&given->second);
  if (input.shape.size() > 1 || input.name.ends_with("bias")) {
    return normal(module, input.name, range != nullptr ? *range : kUsualRange);
  }
  Fill fill = normal(module, input.name, 0.1);
  fill.shift = 1;
  return fill;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// What a buffer or constant holds, from its bytes in hex.
Fill literal(const JsonReader& content, const ProgramInput& input) {
  const std::string text = content.string(kLongestContent);
  std::size_t bytes = item_size(input.dtype);
  for (const Dim& dim : input.shape) bytes *= static_cast<std::size_t>(dim.value({}));
  if (text.size() != 2 * bytes) content.fail("has not the bytes of its shape");
  TensorResult tensor;
  tensor.layout.dtype = input.dtype;
  for (const Dim& dim : input.shape) tensor.layout.shape.push_back(dim.value({}));
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) content.fail("is not in hex");
    tensor.bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  Fill fill;
  fill.kind = Fill::Kind::kLiteral;
  fill.grid = is_integral(input.dtype) ? DType::kFloat64 : input.dtype;
  const auto shorten = [](auto& values) {
    if (!values.empty() && std::ranges::count(values, values.front()) == std::ssize(values)) {
      values.resize(1);
    }
  };
  if (is_integral(input.dtype)) {
    fill.integers = tensor.integers();
    shorten(fill.integers);
  } else {
    fill.values = tensor.reals();
    shorten(fill.values);
  }
  return fill;
}

InputData input_data(const JsonReader& about, const ProgramInput& input, const ModuleConfig& module,
                     std::int64_t token_count) {
  about.only({"source", "strides", "content"});
  InputData data;
  const std::string source = about.at("source").string();
  if (source == "user") {
    data.fill = tokens(module, input.name, token_count);
  } else if (source == "parameter") {
    const std::optional<JsonReader> drawn = about.find("content");
    data.fill = drawn ? literal(*drawn, input) : parameter(module, input);
  } else {
    data = captured_literal(about, input);
  }
  return data;
}

// Where the gradients come from: the loss, or random ones of the logits.
std::optional<Cotangent> cotangent(const ModuleConfig& module) {
  Cotangent result;
  if (module.labels) {
    result.fill.kind = Fill::Kind::kLiteral;
    result.fill.values = {1};
    result.fill.grid = DType::kFloat32;
  } else {
    result.fill = normal(module, "cotangent", 1);
  }
  return result;
}

std::string exception_of(const JsonReader& captured) {
  const JsonReader exception = captured.at("exception");
  return exception.at("type").string(256) + ": " +
         exception.at("message").string(std::size_t{1} << 20);
}

}  // namespace

InputData captured_literal(const JsonReader& about, const ProgramInput& input) {
  InputData data;
  for (const Dim& dim : input.shape) {
    if (!dim.is_constant() || dim.constant < 0) about.fail("a shape without numbers");
  }
  data.fill = literal(about.at("content"), input);
  Shape shape, strides = about.at("strides").integers(input.shape.size());
  for (const Dim& dim : input.shape) shape.push_back(dim.constant);
  if (strides != contiguous_strides(shape)) data.strides = std::move(strides);
  return data;
}

bool is_capture_fault(const std::string& fault) { return fault.starts_with("capture-"); }

std::string capture_message(std::int64_t id, const Case& c, const std::string& fault,
                            const Limits& limits) {
  const Json message = {{"type", "capture"},
                        {"id", id},
                        {"system", "eager@py"},
                        {"fault", fault},
                        {"environment", json_of(c.environment)},
                        {"limits",
                         {{"cpu_seconds", limits.cpu_seconds},
                          {"wall_seconds", limits.wall_seconds},
                          {"memory_bytes", limits.memory_bytes}}},
                        {"items", Json::array({{{"module", json_of(*c.module)}}})}};
  return message.dump();
}

Case captured_case(const std::string& result, const Case& c, const OpTable& table) {
  const Json message = parse_json(result, "capture");
  const JsonReader captured = JsonReader(message, "capture#").at("captured");
  if (captured.at("status").string() != "completed") {
    throw Error("/module", c.module->module + " cannot be captured: " + exception_of(captured));
  }
  Case lowered = c;
  lowered.program = program_from(captured.at("program"));
  const std::int64_t token_count = captured.at("tokens").integer_in(1, std::int64_t{1} << 32);
  const std::vector<JsonReader> inputs = captured.at("inputs").elements(4096);
  if (inputs.size() != lowered.program.inputs.size()) captured.fail("inputs without data");
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ProgramInput& input = lowered.program.inputs[i];
    for (const Dim& dim : input.shape) {
      if (!dim.is_constant() || dim.constant < 0) inputs[i].fail("a shape without numbers");
    }
    lowered.inputs.push_back(input_data(inputs[i], input, *c.module, token_count));
    if (inputs[i].at("source").string() == "parameter") parameters.push_back(input.name);
  }
  lowered.cotangents.resize(lowered.program.outputs.size());
  if (c.module->gradients && c.environment.grad && !lowered.cotangents.empty()) {
    lowered.cotangents.front() = cotangent(*c.module);
    lowered.wrt = std::move(parameters);
  }
  try {
    verify(lowered, table);
  } catch (const Error& error) {
    throw Error("/module", c.module->module + " is captured as a program that ulpfuzz cannot " +
                               "judge: " + error.what());
  }
  return lowered;
}

Case capture(const Case& c, Scheduler& scheduler, const std::string& fault) {
  return is_lowered(c) || !c.module ? c : scheduler.capture(c, fault);
}

}  // namespace ulpfuzz
