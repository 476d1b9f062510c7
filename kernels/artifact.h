#pragma once

#include <filesystem>

#include "ir/case.h"

namespace ulpfuzz {

// What a fuzzer leaves beside the variants of the program that it ran (kernels/variants.h): where
// there are several a byte that picks one, then elements (kernels/elements.h).
bool is_artifact(const std::filesystem::path& file);

// The program with those elements as literals. Throws Error.
Case case_of_artifact(const std::filesystem::path& file);

}  // namespace ulpfuzz
