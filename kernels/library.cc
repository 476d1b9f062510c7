#include "kernels/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "ir/error.h"
#include "oracle/odometer.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAlignment = 64;  // of torch's allocator

std::byte* allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (::posix_memalign(&memory, kAlignment, std::max<std::size_t>(bytes, 1)) != 0) {
    throw Error("no memory for a kernel's buffer");
  }
  return static_cast<std::byte*>(memory);
}

int input_named(const Case& bound, const std::string& name) {
  for (std::size_t i = 0; i < bound.program.inputs.size(); ++i) {
    if (bound.program.inputs[i].name == name) return static_cast<int>(i);
  }
  throw Error(name, "is no input of the program");
}

bool in_order(const std::vector<std::int64_t>& positions) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

KernelLibrary::KernelLibrary(const KernelFolder& kernel, std::size_t variant,
                             const InputElements& elements)
    : elements_(elements) {
  const fs::path library = kernel.folder / "kernels.so";
  const Case& test = kernel.variants[variant];
  const KernelExport::Binding& binding = kernel.exported.bindings[variant];
  handle_ = ::dlopen(fs::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw Error(library.string(), ::dlerror());
  entry_ = reinterpret_cast<void (*)(std::byte* const*)>(  // NOLINT
      ::dlsym(handle_, kernel_entry(variant).c_str()));
  if (entry_ == nullptr) throw Error(library.string(), ::dlerror());
  for (const KernelExport::Buffer& buffer : binding.buffers) {
    const auto bytes = static_cast<std::size_t>(buffer.bytes);
    Block block{{allocate(bytes), [](void* memory) { std::free(memory); }}, bytes};
    if (!buffer.input.empty()) {
      block.input = input_named(test, buffer.input);
      const auto& input = elements.inputs()[static_cast<std::size_t>(block.input)];
      if (bytes < static_cast<std::size_t>(input.storage) * input.width) {
        throw Error(buffer.input, "does not fit into its buffer");
      }
      block.contiguous = in_order(input.positions);
    } else if (!buffer.constant.empty()) {
      block.constant = &buffer.constant;
    }
    std::memset(block.memory.get(), 0, bytes);
    pointers_.push_back(block.memory.get());
    blocks_.push_back(std::move(block));
  }
  for (const KernelExport::Output& out : binding.outputs) {
    const TensorLayout& layout = out.layout;
    Output output;
    output.base = pointers_[static_cast<std::size_t>(out.buffer)];
    output.width = static_cast<std::size_t>(item_size(layout.dtype));
    output.positions = positions(layout.shape, layout.strides, layout.offset);
    output.bytes = output.positions.size() * output.width;
    if (in_order(output.positions)) {
      output.at = output.base;
    } else {
      output.gathered.resize(output.bytes);
      output.at = output.gathered.data();
    }
    outputs_.push_back(std::move(output));
  }
}

KernelLibrary::~KernelLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

bool KernelLibrary::run(std::span<const std::byte> whole) {
  for (Block& block : blocks_) {
    if (block.input >= 0) {
      const auto& input = elements_.inputs()[static_cast<std::size_t>(block.input)];
      const std::byte* from = whole.data() + input.begin;
      if (block.contiguous) {
        std::memcpy(block.memory.get(), from, input.positions.size() * input.width);
        continue;
      }
      for (const std::int64_t at : input.positions) {
        std::memcpy(block.memory.get() + static_cast<std::size_t>(at) * input.width, from,
                    input.width);
        from += input.width;
      }
    } else if (block.constant != nullptr) {
      std::memcpy(block.memory.get(), block.constant->data(), block.bytes);
    } else {
      std::memset(block.memory.get(), 0xFF, block.bytes);
    }
  }
  entry_(pointers_.data());
  return true;
}

std::span<const std::byte> KernelLibrary::result(std::size_t index) {
  Output& output = outputs_[index];
  if (!output.gathered.empty()) {
    std::byte* to = output.gathered.data();
    for (const std::int64_t at : output.positions) {
      std::memcpy(to, output.base + static_cast<std::size_t>(at) * output.width, output.width);
      to += output.width;
    }
  }
  return {output.at, output.bytes};
}

}  // namespace ulpfuzz
