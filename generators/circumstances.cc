#include "generators/circumstances.h"

#include <algorithm>
#include <array>

namespace ulpfuzz {
namespace {

// A process that tries one kernel after another with warm compile caches is the setting of a known
// bug: the cached code keeps the first choice (pytorch#185449).
constexpr double kPrimedShare = 0.06;

// SDPBackend's kernels in the order in which a list is usually written.
constexpr std::array kKernels = {SdpaKernel::kCudnn, SdpaKernel::kFlash, SdpaKernel::kEfficient,
                                 SdpaKernel::kMath};

bool runs_on(SdpaKernel kernel, const std::string& device) {
  return device != "cpu" || kernel == SdpaKernel::kMath || kernel == SdpaKernel::kFlash;
}

// Each list, followed by those that begin with it.
void extend(std::vector<SdpaKernel>& list, const std::string& device,
            std::vector<std::vector<SdpaKernel>>& lists) {
  const auto runs = [&](SdpaKernel kernel) { return runs_on(kernel, device); };
  if (std::ranges::any_of(list, runs)) lists.push_back(list);
  for (const SdpaKernel kernel : kKernels) {
    if (std::ranges::find(list, kernel) != list.end()) continue;
    list.push_back(kernel);
    extend(list, device, lists);
    list.pop_back();
  }
}

}  // namespace

std::vector<std::vector<SdpaKernel>> sdpa_lists(const std::string& device) {
  std::vector<std::vector<SdpaKernel>> lists;
  std::vector<SdpaKernel> none;
  extend(none, device, lists);
  return lists;
}

SdpaChoice draw_sdpa_choice(Random& random, const std::string& device) {
  const auto length = static_cast<std::size_t>(random.integer(1, kKernels.size()));
  std::vector<std::vector<SdpaKernel>> lists = sdpa_lists(device);
  std::erase_if(lists, [&](const std::vector<SdpaKernel>& list) { return list.size() != length; });
  SdpaChoice choice{random.pick(lists), false};
  choice.set_priority = random.chance(0.5);
  return choice;
}

Environment draw_process(Random& random, const Profile& profile) {
  Environment environment;
  environment.threads = random.chance(0.1) ? 2 : 1;
  environment.isa = random.chance(0.05) ? "avx2" : "native";
  environment.dynamic = random.chance(profile.dynamic_share);
  return environment;
}

Environment draw_environment(Random& random, const Profile& profile, const Environment& process,
                             bool backward, bool has_attention) {
  Environment environment = process;
  environment.grad = backward;
  if (has_attention && random.chance(profile.sdpa_choice_share)) {
    environment.sdpa = draw_sdpa_choice(random, environment.device);
    if (random.chance(kPrimedShare / profile.sdpa_choice_share)) {
      SdpaChoice other = draw_sdpa_choice(random, environment.device);
      while (other == *environment.sdpa) other = draw_sdpa_choice(random, environment.device);
      environment.primed_by = std::move(other);
    }
  }
  return environment;
}

}  // namespace ulpfuzz
