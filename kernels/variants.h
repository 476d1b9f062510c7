#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// Programs whose values are fuzzed come in variants: one program in other layouts, or other sizes.

// The case with its inputs laid out in the ways for which ATen has code of its own: as given first;
// then with gaps between elements, one element off the storage's start, and the dimensions' order
// in memory reversed, where these differ and verify. Same elements each, so that all have one
// exact result.
std::vector<Case> layouts(const Case& lowered, const OpTable& table);

// The case in sizes that are drawn: as given first, then up to `most` others, each with all of its
// symbols set to sizes above 1, for which code that is compiled for any size is the same. As given
// alone where the program names its sizes, or has no symbols.
std::vector<Case> sizes(const Case& lowered, int most, std::uint64_t seed, const OpTable& table);

// A folder with a case file for each variant, variant-0.json, variant-1.json, ..., beside which a
// fuzzer leaves what it found. Throw Error.
void write_variants(const std::filesystem::path& folder, const std::vector<Case>& variants);
std::vector<Case> read_variants(const std::filesystem::path& folder);
bool has_variants(const std::filesystem::path& folder);

// Takes the byte that picks one of several variants from the start of `bytes`; where there is one
// alone, it is that one and there is no such byte.
std::size_t picked_variant(std::span<const std::uint8_t>& bytes, std::size_t count);

}  // namespace ulpfuzz
