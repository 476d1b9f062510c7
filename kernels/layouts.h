#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// The case with its inputs laid out in the ways for which ATen has code of its own: as given first;
// then with gaps between elements, one element off the storage's start, and the dimensions' order
// in memory reversed, where these differ and verify. Same elements each, so that all have one
// exact result.
std::vector<Case> layouts(const Case& lowered, const OpTable& table);

// A folder with a case file for each of them, layout-0.json, layout-1.json, ..., beside which a
// fuzzer leaves what it found. Throw Error.
void write_layout_folder(const std::filesystem::path& folder, const std::vector<Case>& layouts);
std::vector<Case> read_layout_folder(const std::filesystem::path& folder);
bool is_layout_folder(const std::filesystem::path& folder);

// Takes the byte that picks one of `count` layouts from the start of `bytes`; 0 where there is
// none.
std::size_t picked_layout(std::span<const std::uint8_t>& bytes, std::size_t count);

}  // namespace ulpfuzz
