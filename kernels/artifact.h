#pragma once

#include <filesystem>

#include "ir/case.h"

namespace ulpfuzz {

// What a fuzzer leaves beside the program that it ran: in a folder of kernels (kernels/folder.h)
// the elements of one input, in one of layouts (kernels/layouts.h) a byte that picks the layout,
// then the elements.
bool is_artifact(const std::filesystem::path& file);

// The program with those elements as literals. Throws Error.
Case case_of_artifact(const std::filesystem::path& file);

}  // namespace ulpfuzz
