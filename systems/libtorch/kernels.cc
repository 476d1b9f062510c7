#include "systems/libtorch/kernels.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <regex>
#include <span>

#include "systems/libtorch/tensors.h"

namespace ulpfuzz::libtorch {
namespace {

// The same as in systems/python/attest.py.
const std::regex& of_interest() {
  static const std::regex pattern("aten::.*(attention|bmm|mm|softmax|conv|fft).*");
  return pattern;
}

// AOTInductor's code calls kernels without the dispatcher, and says so by itself, with no tensors
// ("aoti_torch_cpu_bmm_out"): the operator's name.
std::string operator_of(const at::RecordFunction& call) {
  static const std::regex shim("aoti_torch_(cpu|cuda)_(.*)");
  const std::string name = call.name();
  std::smatch match;
  return std::regex_match(name, match, shim) ? "aten::" + match[2].str() : name;
}

// torch's callbacks are plain functions: what they collect is the process's.
struct Collected {
  std::mutex mutex;
  std::string phase;
  std::vector<KernelRecord> kernels;  // in order of first appearance
  at::CallbackHandle handle = 0;
};
Collected& collected() {
  static Collected c;
  return c;
}

// The tensors among `values`, named by `formal`: a schema's arguments or returns.
std::vector<KernelTensor> tensors_of(std::span<const c10::IValue> values,
                                     const std::vector<c10::Argument>& formal) {
  std::vector<KernelTensor> tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].isTensor() || !values[i].toTensor().defined()) continue;
    const at::Tensor& tensor = values[i].toTensor();
    const std::optional<DType> dtype = known_dtype(tensor.scalar_type());
    if (!dtype || tensor.layout() != at::kStrided) continue;  // seeds of random numbers
    tensors.push_back(
        {i < formal.size() ? formal[i].name() : "",
         {*dtype, tensor.sizes().vec(), tensor.strides().vec(), tensor.storage_offset()}});
  }
  return tensors;
}

// The inputs are noted when a call begins: it may write them, and resize.
struct Seen : at::ObserverContext {
  std::vector<KernelTensor> inputs;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) {
  if (!std::regex_match(operator_of(call), of_interest())) return nullptr;
  auto seen = std::make_unique<Seen>();
  const std::optional<c10::FunctionSchema> schema = call.operator_schema();
  if (!schema) return seen;
  seen->inputs = tensors_of({call.inputs().data(), call.inputs().size()}, schema->arguments());
  return seen;
}

void end(const at::RecordFunction& call, at::ObserverContext* context) {
  if (context == nullptr) return;
  auto& seen = *static_cast<Seen*>(context);
  const std::optional<c10::FunctionSchema> schema = call.operator_schema();
  Collected& c = collected();
  const std::lock_guard lock(c.mutex);
  KernelRecord record{operator_of(call), c.phase, 1, {}, std::move(seen.inputs)};
  if (schema) record.outputs = tensors_of(call.outputs(), schema->returns());
  const auto same = std::ranges::find_if(c.kernels, [&](KernelRecord known) {
    known.count = 1;
    return known == record;
  });
  if (same == c.kernels.end()) {
    c.kernels.push_back(std::move(record));
  } else {
    ++same->count;
  }
}

}  // namespace

KernelWatch::KernelWatch() {
  Collected& c = collected();
  c.kernels.clear();
  c.handle = at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end)
                                       .needsInputs(true)
                                       .needsOutputs(true)
                                       .scopes({at::RecordScope::FUNCTION}));
}

KernelWatch::~KernelWatch() { at::removeCallback(collected().handle); }

void KernelWatch::phase(const std::string& name) {
  const std::lock_guard lock(collected().mutex);
  collected().phase = name;
}

std::vector<KernelRecord> KernelWatch::found() const {
  const std::lock_guard lock(collected().mutex);
  std::vector<KernelRecord> result = collected().kernels;
  std::ranges::stable_sort(
      result, {}, [](const KernelRecord& record) { return std::pair(record.name, record.phase); });
  return result;
}

}  // namespace ulpfuzz::libtorch
