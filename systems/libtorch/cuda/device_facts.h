#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// Facts of the CUDA devices of this machine, for `ulpfuzz doctor` and for the environment of a run:
// a device's arithmetic belongs to what a result is judged against. No LibTorch here, so that the
// facts can be had where torch itself fails.
//
// Nothing here throws or prints when there is no driver or no device. The first call initialises
// the driver: do not fork after it.
namespace ulpfuzz::cuda {

// What a kernel of ours, compiled by nvcc's defaults, saw on a device: three things that float32
// results depend on and that no API reports. nvcc's defaults promise all three (seen on an H200),
// so a `false` says that this build, its flags or the driver's JIT compiler changed the arithmetic.
struct ArithmeticFacts {
  bool contracts_multiply_add = false;      // a*b + c in float32 was rounded once
  bool keeps_float32_subnormals = false;    // a subnormal input times 1 came back, not 0
  bool division_correctly_rounded = false;  // a/b rounded to nearest on every pair tried
};

struct DeviceFacts {
  int index = 0;  // as CUDA numbers the visible devices
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  std::optional<ArithmeticFacts> arithmetic;  // none where the check kernel did not run
  std::string arithmetic_error;               // why not
};

// The visible devices in CUDA's order. Empty, with the reason in `why_none`, where there are none.
std::vector<DeviceFacts> cuda_devices(std::string& why_none);

// "13.0", of the runtime that is linked in; and of the driver, "" without one.
std::string cuda_runtime_version();
std::string cuda_driver_version();

// "9.19.0", of the library that the process loaded, not of the header.
std::string cudnn_version();

// Whether cuDNN can be used: creates and destroys a handle on the current device.
// "" when it can, else cuDNN's own words (without a driver, say).
std::string cudnn_problem();

}  // namespace ulpfuzz::cuda
