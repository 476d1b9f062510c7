#include "systems/result.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxBytes = std::int64_t{4} << 30;  // of one result
constexpr std::size_t kMaxRank = 64;                       // c10's own limit
constexpr std::size_t kMaxKernels = 1000;
constexpr std::size_t kMaxKernelTensors = 64;  // of one call

[[noreturn]] void refuse(const std::string& what) { throw Error("the worker's result: " + what); }

// A member that must be there, of this kind.
const Json& member(const Json& object, const char* key, Json::value_t kind) {
  const auto it = object.find(key);
  if (it == object.end()) refuse(fmt::format("no '{}'", key));
  const bool integer = kind == Json::value_t::number_integer && it->is_number_integer();
  if (!integer && it->type() != kind) refuse(fmt::format("'{}' is of the wrong kind", key));
  return *it;
}
std::string text(const Json& object, const char* key) {
  return member(object, key, Json::value_t::string).get<std::string>();
}
std::int64_t integer(const Json& object, const char* key) {
  return member(object, key, Json::value_t::number_integer).get<std::int64_t>();
}
const Json& array(const Json& object, const char* key) {
  return member(object, key, Json::value_t::array);
}

Shape integers(const Json& object, const char* key) {
  Shape result;
  for (const Json& value : array(object, key)) {
    if (!value.is_number_integer()) refuse(fmt::format("'{}' is not a list of integers", key));
    result.push_back(value.get<std::int64_t>());
  }
  if (result.size() > kMaxRank) refuse(fmt::format("'{}' has {} dimensions", key, result.size()));
  return result;
}

// Optional tables of numbers or texts; members of another kind are left out.
template <class T>
std::map<std::string, T> table_of(const Json& object, const char* key) {
  std::map<std::string, T> result;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_object()) return result;
  for (const auto& [name, value] : it->items()) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (value.is_string()) result[name] = value.template get<T>();
    } else if constexpr (std::is_same_v<T, double>) {
      const double number = value.is_number() ? value.template get<T>() : NAN;
      if (std::isfinite(number) && number >= 0) result[name] = number;
    } else {
      if (value.is_number_integer()) result[name] = value.template get<T>();
    }
  }
  return result;
}

TensorLayout layout_of(const Json& json) {
  if (!json.is_object()) refuse("a layout is not an object");
  TensorLayout layout;
  const std::optional<DType> dtype = parse_dtype(text(json, "dtype"));
  if (!dtype) refuse(fmt::format("unknown dtype '{}'", text(json, "dtype")));
  layout.dtype = *dtype;
  layout.shape = integers(json, "shape");
  layout.strides = integers(json, "strides");
  layout.offset = integer(json, "offset");
  if (layout.strides.size() != layout.shape.size()) refuse("strides do not fit the shape");
  if (layout.offset < 0) refuse("a negative offset");
  return layout;
}

// Bytes of a tensor's elements; refuses sizes that are negative or beyond any memory.
std::int64_t byte_count(const TensorLayout& layout) {
  std::int64_t bytes = item_size(layout.dtype);
  bool empty = false;
  for (const std::int64_t size : layout.shape) {
    if (size < 0) refuse("a negative size");
    if (size == 0) empty = true;
    if (!empty && __builtin_mul_overflow(bytes, size, &bytes)) refuse("a size beyond all memory");
  }
  return empty ? 0 : bytes;
}

// The memory that holds elements. Read with pread, so that a worker that shrinks it afterwards can
// do no more than make the reading fail.
class ElementMemory {
 public:
  explicit ElementMemory(const std::vector<UniqueFd>& fds) {
    if (fds.empty()) return;
    fd_ = fds.front().get();
    struct stat info {};
    // Only a memfd has seals: a pipe or a device could block the reader.
    if (::fcntl(fd_, F_GET_SEALS) < 0 || ::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
      refuse("its descriptor is not a memfd");
    }
    left_ = size_ = info.st_size;
    if (size_ > kMaxBytes) refuse("more than 4 GiB of elements");
  }

  std::int64_t size() const { return size_; }

  // Ranges do not overlap, so all of them together are not larger than the memory.
  std::vector<std::byte> read(std::int64_t at, std::int64_t bytes) {
    if (at < 0 || bytes < 0 || at > size_ || bytes > size_ - at || bytes > left_) {
      refuse("elements outside its memory");
    }
    left_ -= bytes;
    std::vector<std::byte> result(static_cast<std::size_t>(bytes));
    std::size_t done = 0;
    while (done < result.size()) {
      const ssize_t n = ::pread(fd_, result.data() + done, result.size() - done,
                                at + static_cast<std::int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) refuse("elements that cannot be read");
      done += static_cast<std::size_t>(n);
    }
    return result;
  }

 private:
  int fd_ = -1;
  std::int64_t size_ = 0;
  std::int64_t left_ = 0;
};

TensorResult tensor_of(const Json& json, const ExpectedResult& expected, bool has_values,
                       ElementMemory& elements) {
  if (!json.is_object()) refuse("a tensor is not an object");
  TensorResult tensor;
  tensor.role = expected.role;
  tensor.name = text(json, "name");
  if (tensor.name != expected.name) {
    refuse(fmt::format("'{}' where '{}' belongs", tensor.name, expected.name));
  }
  tensor.present = member(json, "present", Json::value_t::boolean).get<bool>();
  if (!tensor.present) {
    if (tensor.role != TensorResult::Role::kGradient) refuse(tensor.name + " is absent");
    return tensor;
  }
  tensor.layout = layout_of(json);
  tensor.alias_of = text(json, "alias_of");
  const std::int64_t bytes = integer(json, "bytes");
  const std::int64_t all = byte_count(tensor.layout);
  if (bytes != (has_values ? all : 0)) refuse(tensor.name + " has not the bytes of its shape");
  tensor.bytes = elements.read(integer(json, "at"), bytes);
  return tensor;
}

std::vector<Execution> executions_of(const Json& run, const ExpectedRun& expected,
                                     ElementMemory& elements) {
  const Json& executions = array(run, "executions");
  if (executions.size() != expected.input_sets.size()) {
    refuse(fmt::format("{} executions of {} input sets", executions.size(),
                       expected.input_sets.size()));
  }
  std::vector<Execution> result;
  for (std::size_t e = 0; e < executions.size(); ++e) {
    Execution execution{expected.input_sets[e], {}};
    if (text(executions[e], "input_set") != std::to_string(execution.input_set)) {
      refuse("another input set than asked for");
    }
    const Json& tensors = array(executions[e], "tensors");
    if (tensors.size() != expected.tensors.size()) {
      refuse(fmt::format("{} tensors instead of {}", tensors.size(), expected.tensors.size()));
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      execution.tensors.push_back(
          tensor_of(tensors[i], expected.tensors[i], expected.has_values, elements));
    }
    result.push_back(std::move(execution));
  }
  return result;
}

std::vector<KernelTensor> kernel_tensors_of(const Json& kernel, const char* key) {
  std::vector<KernelTensor> result;
  for (const Json& json : array(kernel, key)) {
    if (!json.is_object()) refuse(fmt::format("one of a kernel's '{}' is not an object", key));
    if (result.size() == kMaxKernelTensors) break;
    result.push_back(
        {text(json, "name"), layout_of(member(json, "layout", Json::value_t::object))});
  }
  return result;
}

std::vector<KernelRecord> kernels_of(const Json& run) {
  std::vector<KernelRecord> result;
  const auto it = run.find("kernels");
  if (it == run.end() || it->is_null()) return result;
  for (const Json& json : array(run, "kernels")) {
    if (result.size() == kMaxKernels) break;
    KernelRecord record;
    record.name = text(json, "name");
    record.phase = text(json, "phase");
    record.count = static_cast<int>(std::clamp<std::int64_t>(integer(json, "count"), 0, 1 << 30));
    record.outputs = kernel_tensors_of(json, "outputs");
    record.inputs = kernel_tensors_of(json, "inputs");
    result.push_back(std::move(record));
  }
  return result;
}

// The status of a run that made a package, where one is asked for.
constexpr std::string_view kPackaged = "packaged";

Run run_of(const Json& json, const ExpectedRun* expected, ElementMemory& elements) {
  if (!json.is_object()) refuse("a run is not an object");
  Run run;
  run.has_values = expected == nullptr || expected->has_values;
  const std::string status = text(json, "status");
  if (const std::optional<Stage> stage = parse_stage(json.value("stage", ""))) run.stage = *stage;
  if (status == "completed" && expected != nullptr) {
    run.stage = Stage::kEnd;
    run.executions = executions_of(json, *expected, elements);
  } else if (status == kPackaged && expected == nullptr) {
    run.stage = Stage::kCompile;
  } else if (status == "raised") {
    run.status = Run::Status::kRaised;
    const Json& exception = member(json, "exception", Json::value_t::object);
    run.exception_type = text(exception, "type");
    run.exception_message = text(exception, "message");
  } else if (status == "not-compiled") {
    run.status = Run::Status::kNotCompiled;
  } else {
    refuse(fmt::format("status '{}'", status));
  }
  run.kernels = kernels_of(json);
  run.counters = table_of<std::int64_t>(json, "counters");
  run.versions = table_of<std::string>(json, "versions");
  run.cpu_seconds = table_of<double>(json, "cpu_seconds");
  const auto wall = json.find("wall_seconds");
  if (wall != json.end() && wall->is_number()) run.wall_seconds = wall->get<double>();
  return run;
}

}  // namespace

std::vector<Run> read_result(const Frame& frame, const std::vector<ExpectedRun>& expected) {
  const Json message = Json::parse(frame.text, nullptr, false);
  if (!message.is_object()) refuse("it is not an object");
  try {
    ElementMemory elements(frame.fds);
    const Json& runs = array(message, "runs");
    if (runs.size() != expected.size()) {
      refuse(fmt::format("{} runs of {} items", runs.size(), expected.size()));
    }
    std::vector<Run> result;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      result.push_back(run_of(runs[i], &expected[i], elements));
    }
    return result;
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

Run read_package(Frame& frame, UniqueFd& package) {
  const Json message = Json::parse(frame.text, nullptr, false);
  if (!message.is_object()) refuse("it is not an object");
  try {
    ElementMemory memory(frame.fds);
    const Json& runs = array(message, "runs");
    if (runs.size() != 1) refuse(fmt::format("{} runs of one item", runs.size()));
    Run run = run_of(runs[0], nullptr, memory);
    if (run.completed()) {
      if (memory.size() == 0) refuse("a package without a byte");
      package = std::move(frame.fds.front());
    }
    return run;
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

}  // namespace ulpfuzz
