#include "fuzz/observed.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace ulpfuzz {
namespace {

// Steps of a ratio: halves of an octave, and beyond either end one step for all.
int step(double ratio) {
  if (!(ratio > 0)) return -40;
  return static_cast<int>(std::clamp(std::round(2 * std::log2(ratio)), -20.0, 40.0));
}

class Counters {
 public:
  explicit Counters(std::span<std::uint8_t> counters) : counters_(counters) {}
  template <class... T>
  void light(fmt::format_string<T...> format, T&&... arguments) {
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a: the same in every process
    for (const char byte : fmt::format(format, std::forward<T>(arguments)...)) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
    }
    counters_[(hash ^ (hash >> 32)) % counters_.size()] = 1;
  }

 private:
  std::span<std::uint8_t> counters_;
};

}  // namespace

void observe(const Judged& judged, std::span<std::uint8_t> counters) {
  Counters told(counters);
  for (const auto& [request, run] : judged.evidence) {
    const std::string system = to_string(request.system);
    told.light("{} ends {} {}", system, static_cast<int>(run.status), name(run.stage));
    for (const auto& [what, count] : run.counters) {
      told.light("{} {} {}", system, what, std::bit_width(static_cast<std::uint64_t>(count)));
    }
    for (const KernelRecord& kernel : run.kernels) told.light("{} runs {}", system, kernel.name);
  }
  for (const Verdict& verdict : judged.verdicts) {
    told.light("{} is {}", verdict.system, name(verdict.primary));
    for (const TensorMeasure& measure : verdict.measures) {
      told.light("{} spread {} {}", verdict.system, measure.rung, step(measure.rms_ratio));
      told.light("{} bound {} {}", verdict.system, measure.rung, step(measure.bound_ratio));
    }
  }
}

}  // namespace ulpfuzz
