#include "systems/libtorch/switches.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "ir/dtype.h"
#include "ir/error.h"
#include "systems/libtorch/tensors.h"

namespace ulpfuzz::libtorch {
namespace {

at::SDPBackend backend(SdpaKernel kernel) {
  switch (kernel) {
    case SdpaKernel::kMath:
      return at::SDPBackend::math;
    case SdpaKernel::kFlash:
      return at::SDPBackend::flash_attention;
    case SdpaKernel::kEfficient:
      return at::SDPBackend::efficient_attention;
    case SdpaKernel::kCudnn:
      return at::SDPBackend::cudnn_attention;
    case SdpaKernel::kOverrideable:
      return at::SDPBackend::overrideable;
  }
  throw Error("an attention kernel without a name");
}

// torch.nn.attention.sdpa_kernel: what is not named is off; with a priority, what is named comes
// first and the rest keeps its order.
void choose(const SdpaChoice& choice) {
  at::Context& context = at::globalContext();
  const auto named = [&](SdpaKernel kernel) {
    return std::ranges::find(choice.kernels, kernel) != choice.kernels.end();
  };
  context.setSDPUseMath(named(SdpaKernel::kMath));
  context.setSDPUseFlash(named(SdpaKernel::kFlash));
  context.setSDPUseMemEfficient(named(SdpaKernel::kEfficient));
  context.setSDPUseCuDNN(named(SdpaKernel::kCudnn));
  context.setSDPUseOverrideable(named(SdpaKernel::kOverrideable));
  if (!choice.set_priority) return;
  std::vector<std::int64_t> order;
  const auto append = [&](at::SDPBackend b) {
    const auto value = static_cast<std::int64_t>(b);
    if (std::ranges::find(order, value) == order.end()) order.push_back(value);
  };
  for (const SdpaKernel kernel : choice.kernels) append(backend(kernel));
  for (const at::SDPBackend before : context.sDPPriorityOrder()) append(before);
  context.setSDPPriorityOrder(order);
}

}  // namespace

void apply(const Environment& environment) {
  at::Context& context = at::globalContext();
  // Before the first parallel region: the pool's threads take this thread's mode over.
  if (!at::Context::setFlushDenormal(environment.flush_denormal) && environment.flush_denormal) {
    throw Error("this processor cannot flush denormals");
  }
  at::set_num_threads(environment.threads);
  context.setDeterministicAlgorithms(environment.deterministic, false);
  context.setAllowTF32CuBLAS(environment.allow_tf32);
  context.setAllowTF32CuDNN(environment.allow_tf32);
  context.setAllowFP16ReductionCuBLAS(environment.reduced_precision_reduction);
  context.setAllowBF16ReductionCuBLAS(environment.reduced_precision_reduction);
  if (environment.sdpa) choose(*environment.sdpa);
}

ForwardScope::ForwardScope(const Environment& environment)
    : grad_before_(c10::GradMode::is_enabled()), autocast_(!environment.autocast.empty()) {
  c10::GradMode::set_enabled(environment.grad);
  if (!autocast_) return;
  const std::optional<DType> dtype = parse_dtype(environment.autocast);
  if (!dtype) throw Error("autocast to '" + environment.autocast + "', which is no dtype");
  const at::DeviceType device = at::Device(environment.device).type();
  at::autocast::set_autocast_dtype(device, scalar_type(*dtype));
  at::autocast::set_autocast_enabled(device, true);
}

ForwardScope::~ForwardScope() {
  if (autocast_) {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::set_autocast_enabled(at::kCUDA, false);
    at::autocast::clear_cache();
  }
  c10::GradMode::set_enabled(grad_before_);
}

}  // namespace ulpfuzz::libtorch
