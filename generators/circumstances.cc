#include "generators/circumstances.h"

#include <algorithm>
#include <array>

namespace ulpfuzz {
namespace {

// A process that tries one kernel after another with warm compile caches is the setting of a known
// bug: the cached code keeps the first choice (pytorch#185449).
constexpr double kPrimedShare = 0.06;

bool runs_anywhere(const std::vector<SdpaKernel>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(), [](SdpaKernel kernel) {
    return kernel == SdpaKernel::kMath || kernel == SdpaKernel::kFlash;
  });
}

}  // namespace

SdpaChoice draw_sdpa_choice(Random& random) {
  std::array kernels = {SdpaKernel::kMath, SdpaKernel::kFlash, SdpaKernel::kEfficient,
                        SdpaKernel::kCudnn};
  for (std::size_t i = kernels.size() - 1; i > 0; --i) {
    const auto other = random.integer(0, static_cast<std::int64_t>(i));
    std::swap(kernels[i], kernels[static_cast<std::size_t>(other)]);
  }
  SdpaChoice choice;
  const auto count = random.integer(1, static_cast<std::int64_t>(kernels.size()));
  for (const SdpaKernel kernel : kernels) {
    const bool enough = static_cast<std::int64_t>(choice.kernels.size()) >= count;
    if (enough && runs_anywhere(choice.kernels)) break;
    choice.kernels.push_back(kernel);
  }
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
    environment.sdpa = draw_sdpa_choice(random);
    if (random.chance(kPrimedShare / profile.sdpa_choice_share)) {
      SdpaChoice other = draw_sdpa_choice(random);
      while (other == *environment.sdpa) other = draw_sdpa_choice(random);
      environment.primed_by = std::move(other);
    }
  }
  return environment;
}

}  // namespace ulpfuzz
