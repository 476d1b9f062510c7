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
// and, from fuzzing, what libFuzzer leaves: corpus/, crash-*. A file beside case.json and
// kernels.json is the elements of one input (kernels/elements.h).
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

// The C++ compiler's command for kernels.so. With `sanitize` (clang++) under libFuzzer's coverage
// and those checks of AddressSanitizer and UndefinedBehaviorSanitizer whose findings are faults of
// the generated code; else as Inductor compiles.
std::vector<std::string> kernel_compile_command(const KernelFolder& kernel,
                                                const std::string& compiler, bool sanitize);

// A fuzzer's input of a kernel: is the file beside a kernel's case?
bool is_kernel_artifact(const std::filesystem::path& file);
// The program with the values of that input as literals. Throws Error.
Case case_of_artifact(const std::filesystem::path& file);

}  // namespace ulpfuzz
