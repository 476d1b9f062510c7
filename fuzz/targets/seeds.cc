#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "fuzz/sqlite.h"
#include "fuzz/store.h"
#include "fuzz/targets/expected_runs.h"
#include "generators/family.h"
#include "generators/generate.h"
#include "generators/modules.h"
#include "ir/json.h"
#include "ir/modules.h"
#include "ops/table.h"
#include "systems/fault.h"
#include "systems/kinds.h"

// Writes DIR/TARGET/* and DIR/TARGET.dict: what fuzzing of each target begins with.
namespace {

using namespace ulpfuzz;
namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kCases = 200;

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

// libFuzzer's form: a quoted string a line.
void write_dictionary(const fs::path& file, const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += "\"" + word + "\"\n";
  write(file, text);
}

// Programs, and models and modules that are still to be lowered.
void case_seeds(const fs::path& folder) {
  std::set<std::string> words{"\\\"ref\\\"", "\\\"float\\\"", "\\\"fill\\\"", "\\\"symbols\\\""};
  for (std::uint64_t i = 0; i < kCases; ++i) {
    Case c = generate_case(kSeed, i, op_table());
    if (c.model) {  // its recipe alone
      Case model;
      model.model = c.model;
      model.environment = c.environment;
      c = std::move(model);
    }
    write(folder / ("parse_case/" + std::to_string(i)), to_json(c));
  }
  for (const ModuleKind& kind : module_kinds()) {
    Random random(kSeed);
    Case c;
    c.module = draw_module(random, std::string(kind.name));
    write(folder / "parse_case" / kind.name, to_json(c));
    words.emplace(kind.name);
    for (const ModuleField& field : kind.fields) words.emplace(field.name);
  }
  for (const Op& op : op_table().ops()) words.insert(op.name());
  for (const Family& family : families()) {
    words.emplace(family.name);
    for (const ConfigField& field : family.fields) words.emplace(field.name);
  }
  write_dictionary(folder / "parse_case.dict", words);
}

nlohmann::json tensor(const std::string& name, int at) {
  return {{"name", name}, {"present", true}, {"dtype", "float32"}, {"shape", {2}}, {"strides", {1}},
          {"offset", 0},  {"alias_of", ""},  {"at", at},           {"bytes", 8}};
}

// A result that is taken, one that is not complete, and a package.
void result_seeds(const fs::path& folder) {
  nlohmann::json runs = nlohmann::json::array();
  int at = 0;
  for (const ExpectedRun& expected : expected_runs()) {
    nlohmann::json executions = nlohmann::json::array();
    for (const std::uint64_t set : expected.input_sets) {
      nlohmann::json tensors = nlohmann::json::array();
      for (const ExpectedResult& result : expected.tensors) {
        tensors.push_back(tensor(result.name, at));
        at += 8;
      }
      executions.push_back({{"input_set", std::to_string(set)}, {"tensors", tensors}});
    }
    runs.push_back({{"status", "completed"},
                    {"stage", "end"},
                    {"counters", {{"graphs", 1}}},
                    {"versions", {{"torch", "2.11.0"}}},
                    {"cpu_seconds", {{"forward", 0.5}}},
                    {"wall_seconds", 1.5},
                    {"kernels", nlohmann::json::array()},
                    {"executions", executions}});
  }
  const std::string elements(static_cast<std::size_t>(at), '\x3f');
  const std::string whole = nlohmann::json{{"type", "result"}, {"id", 1}, {"runs", runs}}.dump();
  write(folder / "parse_result/completed", whole + '\0' + elements);
  const nlohmann::json raised{
      {"status", "raised"}, {"stage", "compile"}, {"exception", {{"type", "E"}, {"message", "m"}}}};
  write(folder / "parse_result/raised",
        nlohmann::json{{"type", "result"}, {"id", 1}, {"runs", {raised, raised}}}.dump());
  const nlohmann::json packaged{{"status", "packaged"}, {"stage", "compile"}};
  write(folder / "parse_result/packaged",
        nlohmann::json{{"type", "result"}, {"id", 1}, {"runs", {packaged}}}.dump() + '\0' + "PK");
  write(folder / "parse_result/frames", std::string("\2\0\0\0{}\1\0\0\0[", 11));
  write_dictionary(folder / "parse_result.dict",
                   {"\\\"executions\\\"", "\\\"tensors\\\"", "\\\"shape\\\"", "\\\"strides\\\"",
                    "\\\"bytes\\\"", "\\\"kernels\\\"", "\\\"layout\\\"", "not-compiled",
                    "bfloat16", "bool", "output 0", "gradient of x"});
}

void spec_seeds(const fs::path& folder) {
  std::set<std::string> words{"@torch-2.15.0", "torch==2.9.1", "fault="};
  std::string all;
  for (const SystemKind& kind : system_kinds()) {
    words.emplace(kind.name);
    all += (all.empty() ? "" : ",") + std::string(kind.name);
  }
  for (const FaultKind& kind : fault_kinds()) words.emplace(kind.name);
  write(folder / "parse_specs/systems", all);
  write(folder / "parse_specs/options", "inductor[fault=attn-scale=1.03]@torch-2.9.1,eager@py");
  write(folder / "parse_specs/environment", "torch==2.14.0 numpy==2.3.1");
  write_dictionary(folder / "parse_specs.dict", words);
}

void import_seeds(const fs::path& folder) {
  const nlohmann::json config{{"model_type", "qwen2"},    {"num_attention_heads", 4},
                              {"num_key_value_heads", 2}, {"num_hidden_layers", 1},
                              {"hidden_size", 16},        {"intermediate_size", 8},
                              {"vocab_size", 11},         {"max_position_embeddings", 8}};
  write(folder / "parse_import/config", "dtype=bfloat16\n" + config.dump());
  const nlohmann::json input{{"source", "user"}, {"strides", {1}}, {"content", "0000803f"}};
  const nlohmann::json program{
      {"level", "pre_dispatch"},
      {"symbols", nlohmann::json::object()},
      {"inputs", {{{"name", "x"}, {"dtype", "float32"}, {"shape", {1}}}}},
      {"nodes",
       {{{"name", "y"}, {"op", "aten.exp.default"}, {"args", {{"self", {{"ref", "x"}}}}}}}},
      {"outputs", {"y"}}};
  const nlohmann::json answer{{"captured",
                               {{"status", "completed"},
                                {"program", program},
                                {"inputs", {input}},
                                {"notes", {"a note"}},
                                {"wrt", {"x"}},
                                {"differentiable", {true}}}}};
  write(folder / "parse_import/program", "\n" + answer.dump());
  write(folder / "parse_import/words", "num_attention_heads=28");
  write_dictionary(folder / "parse_import.dict",
                   {"\\\"captured\\\"", "\\\"content\\\"", "\\\"strides\\\"", "\\\"wrt\\\"",
                    "\\\"model_type\\\"", "\\\"auto_map\\\"", "\\\"rope_scaling\\\"", "bfloat16",
                    "llama", "phi3", "num_key_value_heads=", "class Repro(torch.nn.Module)"});
}

void store_seeds(const fs::path& folder) {
  const fs::path made = folder / "open_store.tmp";
  {
    Store store(made);
    store.begin_campaign(1, "inductor", "norm");
  }
  Sqlite(made / "store.sqlite")  // small pages: 8 KiB, not 60
      .execute("PRAGMA journal_mode=DELETE; PRAGMA page_size=512; VACUUM; PRAGMA journal_mode=WAL");
  fs::create_directories(folder / "open_store");
  fs::copy_file(made / "store.sqlite", folder / "open_store/campaign",
                fs::copy_options::overwrite_existing);
  fs::remove_all(made);
  write(folder / "open_store/empty", "");
  write_dictionary(folder / "open_store.dict", {"SQLite format 3", "CREATE TABLE", "findings"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIR\n", argv[0]);
    return 2;
  }
  const fs::path folder = argv[1];
  case_seeds(folder);
  result_seeds(folder);
  spec_seeds(folder);
  import_seeds(folder);
  store_seeds(folder);
  return 0;
}
