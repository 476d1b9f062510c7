#include <cudnn.h>

#include "systems/libtorch/cuda/device_facts.h"

namespace ulpfuzz::cuda {

std::string cudnn_version() {
  const std::size_t version = cudnnGetVersion();
  // 9.x: major * 10000 + minor * 100 + patch; 8.x and before: major * 1000.
  const std::size_t major_unit = version >= 90000 ? 10000 : 1000;
  return std::to_string(version / major_unit) + "." + std::to_string(version % major_unit / 100) +
         "." + std::to_string(version % 100);
}

std::string cudnn_problem() {
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = cudnnCreate(&handle);
  if (status == CUDNN_STATUS_SUCCESS) status = cudnnDestroy(handle);
  if (status == CUDNN_STATUS_SUCCESS) return "";
  return cudnnGetErrorString(status);
}

}  // namespace ulpfuzz::cuda
