#include "systems/libtorch/kernels.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <mutex>
#include <regex>

#include "systems/libtorch/tensors.h"

namespace ulpfuzz::libtorch {
namespace {

// The same as in systems/python/attest.py.
const std::regex& of_interest() {
  static const std::regex pattern("aten::.*(attention|bmm|mm|softmax|conv|fft).*");
  return pattern;
}

// torch's callbacks are plain functions: what they collect is the process's.
struct Collected {
  std::mutex mutex;
  std::string phase;
  std::map<std::pair<std::string, std::string>, KernelRecord> kernels;
  at::CallbackHandle handle = 0;
};
Collected& collected() {
  static Collected c;
  return c;
}

void note_layouts(const c10::IValue& value, std::vector<TensorLayout>& layouts) {
  const auto note = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    layouts.push_back({dtype_of(tensor.scalar_type()), tensor.sizes().vec(), tensor.strides().vec(),
                       tensor.storage_offset()});
  };
  if (value.isTensor()) note(value.toTensor());
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) note(tensor);
  }
}

void note(const at::RecordFunction& call, at::ObserverContext* /*unused*/) {
  if (!std::regex_match(call.name(), of_interest())) return;
  std::vector<TensorLayout> layouts;
  for (const c10::IValue& value : call.outputs()) note_layouts(value, layouts);
  Collected& c = collected();
  const std::lock_guard lock(c.mutex);
  const auto [it, first] = c.kernels.try_emplace({call.name(), c.phase});
  KernelRecord& record = it->second;
  if (first) {
    record = {call.name(), c.phase, 1, std::move(layouts)};
  } else {
    ++record.count;
  }
}

}  // namespace

KernelWatch::KernelWatch() {
  Collected& c = collected();
  c.kernels.clear();
  c.handle = at::addGlobalCallback(at::RecordFunctionCallback(nullptr, &note)
                                       .needsOutputs(true)
                                       .scopes({at::RecordScope::FUNCTION}));
}

KernelWatch::~KernelWatch() { at::removeCallback(collected().handle); }

void KernelWatch::phase(const std::string& name) {
  const std::lock_guard lock(collected().mutex);
  collected().phase = name;
}

std::vector<KernelRecord> KernelWatch::found() const {
  std::vector<KernelRecord> result;
  const std::lock_guard lock(collected().mutex);
  for (const auto& [key, record] : collected().kernels) result.push_back(record);
  return result;
}

}  // namespace ulpfuzz::libtorch
