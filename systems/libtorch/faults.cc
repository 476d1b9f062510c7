#include "systems/libtorch/faults.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "ir/error.h"

namespace ulpfuzz::libtorch {
namespace {

constexpr std::array<std::string_view, 10> kKnown{
    "",        "crash",   "hang",      "memory",           "raise",
    "garbage", "one-nan", "bad-frame", "wrong-out-stride", "ignores-sdpa-choice"};

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Half of it looks like what the protocol says on its own descriptor.
std::string noise() {
  std::string bytes;
  for (unsigned i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 2654435761u >> 24);
  return bytes + "\n\x05" + std::string(3, '\0') + "{\"type\":\"result\"}\n";
}

void hang() {
  for (std::atomic<std::uint64_t> turns = 0;; ++turns) {
  }
}

void hoard() {
  std::vector<at::Tensor> hoarded;
  for (;;) hoarded.push_back(at::ones({1 << 24}));
}

bool put_nan(at::Tensor& output) {
  if (!output.is_floating_point() || output.numel() == 0) return false;
  at::Tensor changed = output.detach().clone();
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(changed.dim()), 1);
  changed.as_strided(ones, changed.strides()).fill_(std::numeric_limits<double>::quiet_NaN());
  output = changed;
  return true;
}

bool transpose_memory(at::Tensor& output) {
  std::vector<std::int64_t> large;
  for (std::int64_t d = 0; d < output.dim(); ++d) {
    if (output.size(d) > 1) large.push_back(d);
  }
  if (large.size() < 2) return false;
  const at::Tensor plain = output.detach();
  at::Tensor changed = plain.transpose(large.front(), large.back())
                           .contiguous()
                           .transpose(large.front(), large.back());
  // It was transposed already: contiguous is the wrong one then.
  if (changed.strides() == plain.strides()) changed = plain.contiguous();
  output = changed;
  return true;
}

}  // namespace

void fault_in_environment(const std::string& fault, Environment& environment) {
  if (fault == "ignores-sdpa-choice") environment.sdpa.reset();
}

void fault_before_forward(const std::string& fault) {
  if (std::ranges::find(kKnown, fault) == kKnown.end()) {
    throw Error("fault", "the libtorch worker has no fault '" + fault + "'");
  }
  if (fault == "crash") std::abort();
  if (fault == "hang") hang();
  if (fault == "memory") hoard();
  if (fault == "raise") throw Error("the fault 'raise' was planted");
  if (fault == "garbage") {
    write_all(STDOUT_FILENO, noise());
    write_all(STDERR_FILENO, noise());
  }
}

void fault_in_results(const std::string& fault, Outcome& outcome) {
  const auto change = fault == "one-nan"            ? &put_nan
                      : fault == "wrong-out-stride" ? &transpose_memory
                                                    : nullptr;
  if (change == nullptr) return;
  for (at::Tensor& output : outcome.outputs) {
    if (change(output)) return;
  }
}

bool fault_instead_of_result(const std::string& fault, Channel& channel) {
  if (fault != "bad-frame") return false;
  write_all(channel.fd(), "\xff\xff\xff\xff this is not a frame");
  return true;
}

}  // namespace ulpfuzz::libtorch
