#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ulpfuzz {

// The kernels that scaled_dot_product_attention chooses from, as torch.nn.attention.SDPBackend
// names them.
enum class SdpaKernel : std::uint8_t { kMath, kFlash, kEfficient, kCudnn, kOverrideable };
std::string_view name(SdpaKernel kernel);  // "MATH", "FLASH_ATTENTION", ...
std::optional<SdpaKernel> parse_sdpa_kernel(std::string_view name);

// with torch.nn.attention.sdpa_kernel(kernels, set_priority=...)
struct SdpaChoice {
  std::vector<SdpaKernel> kernels;  // in order of priority
  bool set_priority = false;
  bool operator==(const SdpaChoice&) const = default;
};

// Everything beside the program and its inputs that may change a result. Every cache is keyed by
// all of it.
struct Environment {
  std::string device = "cpu";  // "cpu", "cuda"
  int threads = 1;             // torch.set_num_threads
  std::string isa = "native";  // "native", "avx2", "default" (no vector code in eager)
  bool dynamic = false;        // torch.compile(dynamic=True)
  bool grad = true;            // grad mode; false: torch.no_grad, no backward
  std::string autocast;        // "" (off) or a dtype
  bool allow_tf32 = false;
  bool reduced_precision_reduction = true;  // cuBLAS and CPU half-precision accumulation
  bool flush_denormal = false;
  bool deterministic = false;
  std::uint64_t rng_seed = 0;  // torch.manual_seed before each execution
  bool warm_caches = false;    // the compiler's graph caches on
  std::optional<SdpaChoice> sdpa;
  // Compile and run the same program under this choice first, caches on, then reset: what a process
  // that tries one kernel after another does. That it raises is no result.
  std::optional<SdpaChoice> primed_by;

  bool operator==(const Environment&) const = default;
};

}  // namespace ulpfuzz
