#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/case.h"
#include "systems/kernel_export.h"

namespace ulpfuzz {

// The exported kernels of one program on disk, as a target of fuzzing:
//
//   case.json    the program
//   kernels.json the host's answer (systems/kernel_export.h)
//   kernels.cc   the kernels, each in a namespace, and an entry that makes all calls
//   kernels.so   that, compiled
//
// and, from fuzzing, what libFuzzer leaves: corpus/, crash-* (kernels/artifact.h).
inline constexpr const char* kKernelEntry = "ulpfuzz_kernels";  // void (std::byte* const* buffers)

struct KernelFolder {
  std::filesystem::path folder;
  Case test;
  KernelExport exported;
};

// The text of kernels.cc.
std::string kernel_source(const KernelExport& exported);

// Writes case.json, kernels.json and kernels.cc. Throws Error.
KernelFolder write_kernel_folder(const std::filesystem::path& folder, const Case& test,
                                 const std::string& answer);
KernelFolder read_kernel_folder(const std::filesystem::path& folder);  // throws Error
bool is_kernel_folder(const std::filesystem::path& folder);

// The C++ compiler's command for kernels.so. With `sanitize` (clang++) under libFuzzer's coverage
// and those checks of AddressSanitizer and UndefinedBehaviorSanitizer whose findings are faults of
// the generated code; else as Inductor compiles.
std::vector<std::string> kernel_compile_command(const KernelFolder& kernel,
                                                const std::string& compiler, bool sanitize);

}  // namespace ulpfuzz
