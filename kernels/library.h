#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/elements.h"
#include "kernels/folder.h"
#include "kernels/subject.h"

namespace ulpfuzz {

// The exported kernels in this process: a library with the entry of kernels/folder.h, and a block
// of memory for each buffer, of exactly its size so that a sanitizer sees what is read beside it.
//
// The library is code of a system under test: it may crash, or write where it should not. Only
// processes that are nothing but a test of it make one.
class KernelLibrary : public Subject {
 public:
  // Of one variant. Throws Error when the library cannot be loaded or is of another export.
  // Refers to both.
  KernelLibrary(const KernelFolder& kernel, std::size_t variant, const InputElements& elements);
  ~KernelLibrary() override;
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  // Runs all calls. What no kernel has written before is NaN, or all bits one.
  bool run(std::span<const std::byte> whole) override;
  std::span<const std::byte> result(std::size_t index) override;

 private:
  struct Block {
    std::unique_ptr<std::byte[], void (*)(void*)> memory;
    std::size_t bytes;
    int input = -1;  // that lies in it
    bool contiguous = true;
    const std::vector<std::byte>* constant = nullptr;
  };
  struct Output {
    const std::byte* at = nullptr;  // contiguous ones lie in their block
    std::vector<std::int64_t> positions;
    std::size_t width = 0, bytes = 0;
    const std::byte* base = nullptr;
    std::vector<std::byte> gathered;
  };

  const InputElements& elements_;
  void* handle_ = nullptr;
  void (*entry_)(std::byte* const*) = nullptr;
  std::vector<Block> blocks_;
  std::vector<std::byte*> pointers_;
  std::vector<Output> outputs_;
};

}  // namespace ulpfuzz
