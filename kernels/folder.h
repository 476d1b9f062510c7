#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/case.h"
#include "systems/kernel_export.h"

namespace ulpfuzz {

// The exported kernels of one program on disk, as a target of fuzzing:
//
//   variant-N.json  the program in each of its sizes (kernels/variants.h)
//   kernels.json    the host's answer (systems/kernel_export.h)
//   kernels.cc      the kernels, each in a namespace, and for each variant an entry that makes all
//   calls kernels.so      that, compiled
//
// and, from fuzzing, what libFuzzer leaves: corpus/, crash-* (kernels/artifact.h).
std::string kernel_entry(std::size_t variant);  // of a void (std::byte* const* buffers)

struct KernelFolder {
  std::filesystem::path folder;
  std::vector<Case> variants;
  KernelExport exported;
};

// The text of kernels.cc.
std::string kernel_source(const KernelExport& exported);

// Writes all but kernels.so. Throws Error.
KernelFolder write_kernel_folder(const std::filesystem::path& folder,
                                 const std::vector<Case>& variants, const std::string& answer);
KernelFolder read_kernel_folder(const std::filesystem::path& folder);  // throws Error

// The C++ compiler's command for kernels.so. With `sanitize` (clang++) under libFuzzer's coverage
// and those checks of AddressSanitizer and UndefinedBehaviorSanitizer whose findings are faults of
// the generated code; else as Inductor compiles.
std::vector<std::string> kernel_compile_command(const KernelFolder& kernel,
                                                const std::string& compiler, bool sanitize);

}  // namespace ulpfuzz
