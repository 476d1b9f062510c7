#include "importers/traced.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "systems/capture.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kMostInputs = 4096;
constexpr std::size_t kMostNotes = 64;
constexpr std::size_t kLongestNote = 4096;

std::string import_message(std::int64_t id, TracedKind kind, const std::string& path,
                           const Limits& limits) {
  const Json message = {
      {"type", "import"},
      {"id", id},
      {"system", "eager@py"},
      {"environment", json_of(Environment())},
      {"limits",
       {{"cpu_seconds", limits.cpu_seconds},
        {"wall_seconds", limits.wall_seconds},
        {"memory_bytes", limits.memory_bytes}}},
      {"source", {{"kind", name(kind)}, {"path", std::filesystem::absolute(path).string()}}},
      {"items", Json::array()}};
  return message.dump();
}

}  // namespace

std::string_view name(TracedKind kind) {
  switch (kind) {
    case TracedKind::kExported:
      return "pt2";
    case TracedKind::kMinifier:
      return "minifier";
    case TracedKind::kPython:
      return "python";
  }
  return "";
}

std::optional<TracedKind> traced_kind(const std::string& path, std::string_view text) {
  if (text.starts_with("PK\x03\x04")) return TracedKind::kExported;
  const auto has = [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  if (has("class Repro(torch.nn.Module)") && has("def load_args(")) return TracedKind::kMinifier;
  if (path.ends_with(".py")) return TracedKind::kPython;
  return std::nullopt;
}

Imported import_traced(TracedKind kind, const std::string& path, Scheduler& scheduler) {
  const std::string result = scheduler.ask_host(path, [&](std::int64_t id, const Limits& limits) {
    return import_message(id, kind, path, limits);
  });
  return imported_program(result, kind, path, op_table());
}

Imported imported_program(const std::string& result, TracedKind kind, const std::string& place,
                          const OpTable& table) {
  const Json message = parse_json(result, place);
  const JsonReader captured = JsonReader(message, place + "#").at("captured");
  if (captured.at("status").string() != "completed") {
    const JsonReader exception = captured.at("exception");
    throw Error(place, "cannot be imported: " + exception.at("type").string(256) + ": " +
                           exception.at("message").string(std::size_t{1} << 20));
  }
  Imported imported;
  imported.kind = name(kind);
  Case& c = imported.test;
  c.program = program_from(captured.at("program"));
  const std::vector<JsonReader> inputs = captured.at("inputs").elements(kMostInputs);
  if (inputs.size() != c.program.inputs.size()) captured.fail("inputs without data");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].only({"source", "strides", "content"});
    c.inputs.push_back(captured_literal(inputs[i], c.program.inputs[i]));
  }
  for (const JsonReader& note : captured.at("notes").elements(kMostNotes)) {
    imported.notes.push_back(note.string(kLongestNote));
  }
  for (const JsonReader& input : captured.at("wrt").elements(kMostInputs)) {
    const std::string by = input.string(256);
    if (c.program.find_input(by) != nullptr) c.wrt.push_back(by);
  }
  const std::vector<JsonReader> differentiable =
      captured.at("differentiable").elements(c.program.outputs.size());
  if (differentiable.size() != c.program.outputs.size()) captured.fail("outputs without gradients");
  c.cotangents.resize(c.program.outputs.size());
  try {
    const Types types = verify(c.program, table);
    for (std::size_t i = 0; !c.wrt.empty() && i < c.cotangents.size(); ++i) {
      if (!differentiable[i].boolean()) continue;
      c.cotangents[i].emplace();
      c.cotangents[i]->fill.seed = i;
      c.cotangents[i]->fill.grid = types.of(c.program.outputs[i]).dtype;
    }
    verify(c, table);
  } catch (const Error& error) {
    throw Error(place, std::string("is a program that ulpfuzz cannot judge: ") + error.what());
  }
  return imported;
}

}  // namespace ulpfuzz
