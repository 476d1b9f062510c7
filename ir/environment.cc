#include "ir/environment.h"

#include <array>

namespace ulpfuzz {
namespace {

// In the order of SdpaKernel.
constexpr std::array<std::string_view, 5> kSdpaNames{
    "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE"};

}  // namespace

std::string_view name(SdpaKernel kernel) { return kSdpaNames[static_cast<std::size_t>(kernel)]; }

std::optional<SdpaKernel> parse_sdpa_kernel(std::string_view text) {
  for (std::size_t i = 0; i < kSdpaNames.size(); ++i) {
    if (kSdpaNames[i] == text) return static_cast<SdpaKernel>(i);
  }
  return std::nullopt;
}

}  // namespace ulpfuzz
