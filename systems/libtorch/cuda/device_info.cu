#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "systems/libtorch/cuda/device_facts.h"

namespace ulpfuzz::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// CUDA keeps the last error of a thread; LibTorch, in the same thread, must not meet ours.
std::string take_error(cudaError_t error) {
  static_cast<void>(cudaGetLastError());
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

// Frees on leaving a scope.
struct DeviceMemory {
  void* data = nullptr;
  ~DeviceMemory() { static_cast<void>(cudaFree(data)); }
};

constexpr int kQuotients = 8;

// Operands come from memory, so that the compiler cannot evaluate anything itself.
struct Operands {
  // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly; with the product rounded to float32 it is 0.
  float factor = 1.0f + 0x1p-12f;
  float addend = -(1.0f + 0x1p-11f);
  float subnormal = 0x1p-140f;
  float one = 1.0f;
  float numerators[kQuotients] = {1, 1, 2, 5, 7, 10, 0x1.fffffep0f, 1e-38f};
  float denominators[kQuotients] = {3, 7, 3, 9, 11, 3, 0x1.000002p0f, 3};
};

struct Results {
  float multiply_add;
  float subnormal;
  float quotients[kQuotients];
};

__global__ void check_arithmetic(const Operands* in, Results* out) {
  out->multiply_add = in->factor * in->factor + in->addend;
  out->subnormal = in->subnormal * in->one;
  for (int i = 0; i < kQuotients; ++i) {
    out->quotients[i] = in->numerators[i] / in->denominators[i];
  }
}

cudaError_t run_check(const Operands& operands, Results& results) {
  DeviceMemory in, out;
  cudaError_t error = cudaMalloc(&in.data, sizeof(Operands));
  if (error == cudaSuccess) error = cudaMalloc(&out.data, sizeof(Results));
  if (error == cudaSuccess) {
    error = cudaMemcpy(in.data, &operands, sizeof(Operands), cudaMemcpyHostToDevice);
  }
  if (error == cudaSuccess) {
    check_arithmetic<<<1, 1>>>(static_cast<const Operands*>(in.data),
                               static_cast<Results*>(out.data));
    error = cudaGetLastError();
  }
  if (error == cudaSuccess) {
    error = cudaMemcpy(&results, out.data, sizeof(Results), cudaMemcpyDeviceToHost);
  }
  return error;
}

ArithmeticFacts read_arithmetic(const Operands& operands, const Results& results) {
  ArithmeticFacts facts;
  facts.contracts_multiply_add = results.multiply_add == 0x1p-24f;
  facts.keeps_float32_subnormals = results.subnormal == operands.subnormal;
  facts.division_correctly_rounded = true;
  for (int i = 0; i < kQuotients; ++i) {
    // A float quotient rounded through double is rounded right: 53 >= 2 * 24 + 2 bits (Figueroa,
    // "When is double rounding innocuous?", 1995). It holds for normal results; 1e-38 / 3 is
    // subnormal, far enough from a tie to hold as well.
    const double wide = static_cast<double>(operands.numerators[i]) / operands.denominators[i];
    if (results.quotients[i] != static_cast<float>(wide)) facts.division_correctly_rounded = false;
  }
  return facts;
}

DeviceFacts device_facts(int index) {
  DeviceFacts facts;
  facts.index = index;
  cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, index);
  if (error != cudaSuccess) {
    facts.arithmetic_error = take_error(error);
    return facts;
  }
  facts.name = properties.name;
  facts.compute_major = properties.major;
  facts.compute_minor = properties.minor;
  facts.memory_bytes = properties.totalGlobalMem;
  facts.multiprocessors = properties.multiProcessorCount;

  const Operands operands;
  Results results;
  error = cudaSetDevice(index);
  if (error == cudaSuccess) error = run_check(operands, results);
  if (error == cudaSuccess) {
    facts.arithmetic = read_arithmetic(operands, results);
  } else {
    facts.arithmetic_error = take_error(error);
  }
  return facts;
}

}  // namespace

std::vector<DeviceFacts> cuda_devices(std::string& why_none) {
  std::vector<DeviceFacts> devices;
  why_none.clear();
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    why_none = take_error(error);
    return devices;
  }
  if (count == 0) why_none = "the driver shows no device (CUDA_VISIBLE_DEVICES?)";

  int current = 0;
  static_cast<void>(cudaGetDevice(&current));
  for (int index = 0; index < count; ++index) devices.push_back(device_facts(index));
  if (count > 0) static_cast<void>(cudaSetDevice(current));
  return devices;
}

std::string cuda_runtime_version() { return version_text(CUDART_VERSION); }

std::string cuda_driver_version() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "";
  return version_text(version);
}

}  // namespace ulpfuzz::cuda
