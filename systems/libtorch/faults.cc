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

constexpr std::array<std::string_view, 12> kKnown{"",
                                                  "crash",
                                                  "hang",
                                                  "memory",
                                                  "raise",
                                                  "garbage",
                                                  "one-nan",
                                                  "one-element",
                                                  "bad-frame",
                                                  "wrong-out-stride",
                                                  "ignores-sdpa-choice",
                                                  "flush-denormals"};

// "one-element=0.03": its name and its value.
std::string_view name_of(const std::string& fault) {
  return std::string_view(fault).substr(0, fault.find('='));
}
double value_of(const std::string& fault) { return std::stod(fault.substr(fault.find('=') + 1)); }

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

// The first finite element that is not zero, from the middle on, becomes 1 + `share` times as
// large.
bool change_one(at::Tensor& output, double share) {
  if (!output.is_floating_point() || output.numel() == 0) return false;
  at::Tensor changed = output.detach().clone();
  const at::Tensor flat = changed.reshape({-1});
  const at::Tensor there =
      (flat.isfinite() & (flat != 0)).slice(0, flat.numel() / 2).nonzero().flatten();
  if (there.numel() == 0) return true;
  std::int64_t place = flat.numel() / 2 + there[0].item<std::int64_t>();
  at::Tensor element = changed;
  for (std::int64_t d = changed.dim() - 1; d >= 0; --d) {
    element = element.select(d, place % changed.size(d));
    place /= changed.size(d);
  }
  element.mul_(1 + share);
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
  if (fault == "flush-denormals") environment.flush_denormal = true;
}

void fault_before_forward(const std::string& fault) {
  if (std::ranges::find(kKnown, name_of(fault)) == kKnown.end()) {
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
  const std::string_view name = name_of(fault);
  for (at::Tensor& output : outcome.outputs) {
    if (name == "one-nan" && put_nan(output)) return;
    if (name == "one-element" && change_one(output, value_of(fault))) return;
    if (name == "wrong-out-stride" && transpose_memory(output)) return;
  }
}

bool fault_instead_of_result(const std::string& fault, Channel& channel) {
  if (fault != "bad-frame") return false;
  write_all(channel.fd(), "\xff\xff\xff\xff this is not a frame");
  return true;
}

}  // namespace ulpfuzz::libtorch
