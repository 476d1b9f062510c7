#include "systems/kernel_export.h"

#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/verify.h"
#include "systems/request.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kMostKernels = 256;
constexpr std::size_t kMostBindings = 64;
constexpr std::size_t kMostBuffers = 4096;
constexpr std::size_t kMostArguments = 256;
constexpr std::size_t kLongestSource = std::size_t{4} << 20;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of a buffer

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::vector<std::byte> bytes_of(const JsonReader& hex) {
  const std::string text = hex.string(2 * kMostBytes);
  std::vector<std::byte> bytes;
  if (text.size() % 2 != 0) hex.fail("has half a byte");
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) hex.fail("is not in hex");
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

std::vector<std::string> strings_of(const JsonReader& list) {
  std::vector<std::string> strings;
  for (const JsonReader& item : list.elements(1024)) strings.push_back(item.string());
  return strings;
}

KernelExport::Kernel kernel_of(const JsonReader& about) {
  about.only({"source", "arguments"});
  return {about.at("source").string(kLongestSource), strings_of(about.at("arguments"))};
}

KernelExport::Buffer buffer_of(const JsonReader& about) {
  about.only({"bytes", "input", "constant"});
  KernelExport::Buffer buffer{about.at("bytes").integer_in(0, kMostBytes),
                              about.at("input").string(256), bytes_of(about.at("constant"))};
  if (!buffer.constant.empty() && std::ssize(buffer.constant) != buffer.bytes) {
    about.fail("holds a constant of another size");
  }
  return buffer;
}

KernelExport::Call call_of(const JsonReader& about, const KernelExport& read,
                           const KernelExport::Binding& binding) {
  about.only({"kernel", "arguments"});
  KernelExport::Call call;
  call.kernel = static_cast<int>(about.at("kernel").integer_in(0, std::ssize(read.kernels) - 1));
  for (const JsonReader& argument : about.at("arguments").elements(kMostArguments)) {
    if (!argument.json().is_object()) {
      call.arguments.emplace_back(argument.integer());
      continue;
    }
    argument.only({"buffer", "offset"});
    const std::int64_t buffer =
        argument.at("buffer").integer_in(0, std::ssize(binding.buffers) - 1);
    const std::int64_t bytes = binding.buffers[static_cast<std::size_t>(buffer)].bytes;
    call.arguments.emplace_back(KernelExport::Pointer{static_cast<int>(buffer),
                                                      argument.at("offset").integer_in(0, bytes)});
  }
  const auto& kernel = read.kernels[static_cast<std::size_t>(call.kernel)];
  if (call.arguments.size() != kernel.arguments.size())
    about.fail("has not its kernel's arguments");
  return call;
}

KernelExport::Output output_of(const JsonReader& about, const KernelExport::Binding& binding) {
  about.only({"buffer", "dtype", "shape", "strides", "offset"});
  KernelExport::Output output;
  output.buffer =
      static_cast<int>(about.at("buffer").integer_in(0, std::ssize(binding.buffers) - 1));
  const std::int64_t bytes = binding.buffers[static_cast<std::size_t>(output.buffer)].bytes;
  TensorLayout& layout = output.layout;
  layout.dtype = about.at("dtype").dtype();
  layout.shape = about.at("shape").integers(64);
  layout.strides = about.at("strides").integers(64);
  layout.offset = about.at("offset").integer_in(0, bytes);
  if (layout.shape.size() != layout.strides.size()) about.fail("has not a stride a dimension");
  std::int64_t last = layout.offset, elements = 1;
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    const std::int64_t size = layout.shape[d], stride = layout.strides[d];
    if (size < 0 || stride < 0 || size > bytes || stride > bytes) about.fail("is not inside");
    elements *= size;
    last += std::max<std::int64_t>(size - 1, 0) * stride;
    if (last > bytes || elements > bytes) about.fail("is not inside of its buffer");
  }
  if (elements > 0 && (last + 1) * item_size(layout.dtype) > bytes) {
    about.fail("is not inside of its buffer");
  }
  return output;
}

KernelExport::Binding binding_of(const JsonReader& about, const KernelExport& read) {
  about.only({"buffers", "calls", "outputs", "values"});
  KernelExport::Binding binding;
  for (const JsonReader& buffer : about.at("buffers").elements(kMostBuffers)) {
    binding.buffers.push_back(buffer_of(buffer));
  }
  for (const JsonReader& call : about.at("calls").elements(kMostKernels)) {
    binding.calls.push_back(call_of(call, read, binding));
  }
  for (const JsonReader& output : about.at("outputs").elements(1024)) {
    binding.outputs.push_back(output_of(output, binding));
  }
  for (const JsonReader& value : about.at("values").elements(1024)) {
    binding.values.push_back(bytes_of(value));
  }
  if (binding.values.size() != binding.outputs.size()) about.fail("outputs without values");
  return binding;
}

}  // namespace

std::string export_kernels(const std::vector<Case>& lowered, const SystemSpec& inductor,
                           const OpTable& table, Scheduler& scheduler) {
  if (inductor.name != "inductor") throw Error(inductor.name, "has no kernels to export");
  std::vector<RunRequest> requests;
  for (const Case& c : lowered) {
    verify(c, table);
    requests.push_back({c, inductor});
  }
  const auto message = [&](std::int64_t id, const Limits& limits) {
    std::vector<const RunRequest*> pack;
    for (const RunRequest& request : requests) pack.push_back(&request);
    Json json = Json::parse(run_message(id, pack, limits, true, "python", table));
    json["type"] = "kernels";
    return json.dump();
  };
  return scheduler.ask_host("kernels", message, inductor);
}

KernelExport kernel_export(const std::string& answer, const std::string& place) {
  const Json message = parse_json(answer, place);
  const JsonReader captured = JsonReader(message, place + "#").at("captured");
  if (captured.at("status").string() != "completed") {
    const JsonReader exception = captured.at("exception");
    throw Error(place, exception.at("type").string(256) + ": " +
                           exception.at("message").string(std::size_t{1} << 20));
  }
  KernelExport read;
  for (const JsonReader& kernel : captured.at("kernels").elements(kMostKernels)) {
    read.kernels.push_back(kernel_of(kernel));
  }
  for (const JsonReader& binding : captured.at("bindings").elements(kMostBindings)) {
    read.bindings.push_back(binding_of(binding, read));
  }
  if (read.bindings.empty()) captured.fail("has no binding");
  const JsonReader compiler = captured.at("compiler");
  read.compiler = {strings_of(compiler.at("definitions")), strings_of(compiler.at("include")),
                   strings_of(compiler.at("flags")), strings_of(compiler.at("vector")),
                   strings_of(compiler.at("libraries"))};
  const JsonReader versions = captured.at("versions");
  for (const std::string& of : versions.keys()) read.versions[of] = versions.at(of).string();
  return read;
}

}  // namespace ulpfuzz
