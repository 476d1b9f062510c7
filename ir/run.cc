#include "ir/run.h"

#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ir/element.h"
#include "ir/error.h"
#include "ir/hash.h"
#include "ir/json.h"
#include "ir/json_reader.h"

namespace ulpfuzz {
namespace {

// In the order of Stage.
constexpr std::array<std::string_view, 8> kStages{"start",   "build",    "prime",   "compile",
                                                  "forward", "backward", "profile", "end"};
// In the order of Run::Status.
constexpr std::array<std::string_view, 6> kStatuses{"completed", "raised",        "crashed",
                                                    "hung",      "out-of-memory", "not-compiled"};
// In the order of TensorResult::Role.
constexpr std::array<std::string_view, 3> kRoles{"output", "gradient", "written-input"};

Json tensor_json(const TensorResult& tensor) {
  Json json = {{"role", std::string(kRoles[static_cast<std::size_t>(tensor.role)])},
               {"name", tensor.name},
               {"present", tensor.present}};
  if (!tensor.present) return json;
  json["layout"] = json_of(tensor.layout);
  json["alias_of"] = tensor.alias_of;
  json["sha256"] = sha256_hex(
      {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});  // NOLINT
  return json;
}

Json execution_json(const Execution& execution) {
  Json tensors = Json::array();
  for (const TensorResult& tensor : execution.tensors) tensors.push_back(tensor_json(tensor));
  return {{"input_set", std::to_string(execution.input_set)}, {"tensors", tensors}};
}

Json kernel_tensors_json(const std::vector<KernelTensor>& tensors) {
  Json list = Json::array();
  for (const KernelTensor& tensor : tensors) {
    list.push_back({{"name", tensor.name}, {"layout", json_of(tensor.layout)}});
  }
  return list;
}

}  // namespace

Json json_of(const KernelRecord& kernel) {
  return {{"name", kernel.name},
          {"phase", kernel.phase},
          {"count", kernel.count},
          {"outputs", kernel_tensors_json(kernel.outputs)},
          {"inputs", kernel_tensors_json(kernel.inputs)}};
}

std::string_view name(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }

std::optional<Stage> parse_stage(std::string_view text) {
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    if (kStages[i] == text) return static_cast<Stage>(i);
  }
  return std::nullopt;
}

std::string_view name(Run::Status status) { return kStatuses[static_cast<std::size_t>(status)]; }

std::string to_string(const TensorLayout& layout) {
  const auto list = [](const Shape& values) {
    std::string text;
    for (const std::int64_t value : values) {
      text += (text.empty() ? "" : ", ") + std::to_string(value);
    }
    return "[" + text + "]";
  };
  std::string text = std::string(name(layout.dtype)) + list(layout.shape);
  text += " strides " + list(layout.strides);
  if (layout.offset != 0) text += " offset " + std::to_string(layout.offset);
  return text;
}

Json json_of(const TensorLayout& layout) {
  return {{"dtype", std::string(name(layout.dtype))},
          {"shape", layout.shape},
          {"strides", layout.strides},
          {"offset", layout.offset}};
}

TensorLayout layout_from(const Json& json, const std::string& place) {
  const JsonReader reader(json, place);
  constexpr std::size_t kMaxRank = 64;
  return {reader.at("dtype").dtype(), reader.at("shape").integers(kMaxRank),
          reader.at("strides").integers(kMaxRank), reader.at("offset").integer()};
}

std::string RunRequest::hash() const {
  Json sets = Json::array();
  for (const std::uint64_t salt : input_sets) sets.push_back(std::to_string(salt));
  const Json request = {{"case", json_of(test)},
                        {"system", to_string(system)},
                        {"input_sets", sets},
                        {"profile", profile}};
  return sha256_hex(canonical(request));
}

std::vector<double> TensorResult::reals() const {
  if (is_integral(layout.dtype)) throw Error(name, "has integers, not reals");
  const DType real = real_part(layout.dtype);
  std::vector<double> values(bytes.size() / static_cast<std::size_t>(item_size(real)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load_real(real, bytes.data() + i * static_cast<std::size_t>(item_size(real)));
  }
  return values;
}

std::vector<std::int64_t> TensorResult::integers() const {
  if (!is_integral(layout.dtype)) throw Error(name, "has reals, not integers");
  std::vector<std::int64_t> values(bytes.size() /
                                   static_cast<std::size_t>(item_size(layout.dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load_integer(
        layout.dtype, bytes.data() + i * static_cast<std::size_t>(item_size(layout.dtype)));
  }
  return values;
}

const TensorResult* Execution::find(std::string_view wanted) const {
  for (const TensorResult& tensor : tensors) {
    if (tensor.name == wanted) return &tensor;
  }
  return nullptr;
}

double Run::total_cpu_seconds() const {
  return std::accumulate(cpu_seconds.begin(), cpu_seconds.end(), 0.0,
                         [](double sum, const auto& one) { return sum + one.second; });
}

std::string to_json(const Run& run) {
  Json executions_list = Json::array();
  for (const Execution& execution : run.executions) {
    executions_list.push_back(execution_json(execution));
  }
  Json kernels_list = Json::array();
  for (const KernelRecord& kernel : run.kernels) kernels_list.push_back(json_of(kernel));
  Json json = {{"status", std::string(name(run.status))},
               {"stage", std::string(name(run.stage))},
               {"executions", executions_list},
               {"kernels", kernels_list},
               {"counters", run.counters},
               {"versions", run.versions},
               {"cpu_seconds", run.cpu_seconds},
               {"wall_seconds", run.wall_seconds},
               {"packed_with", run.packed_with},
               {"stock", run.stock},
               {"worker_text", run.worker_text}};
  if (!run.exception_type.empty()) {
    json["exception"] = {{"type", run.exception_type}, {"message", run.exception_message}};
  }
  if (run.signal != 0) json["signal"] = run.signal;
  return canonical(json);
}

}  // namespace ulpfuzz
