#include "kernels/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "generators/draw.h"
#include "ir/error.h"
#include "ir/type.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

// The case with strides and offset of each input as `place` says.
template <class Place>
Case laid_out(const Case& lowered, const Place& place) {
  Case c = lowered;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Shape shape;
    for (const Dim& dim : c.program.inputs[i].shape) shape.push_back(dim.value(c.program.symbols));
    InputData& data = c.inputs[i];
    place(shape, data);
    if (data.offset == 0 && data.strides == contiguous_strides(shape)) data.strides.clear();
  }
  return c;
}

void gaps(const Shape& shape, InputData& data) {
  data.strides = contiguous_strides(shape);
  for (std::int64_t& stride : data.strides) stride *= 2;
}

void off_the_start(const Shape& shape, InputData& data) {
  data.strides = contiguous_strides(shape);
  data.offset = 1;
}

void reversed(const Shape& shape, InputData& data) {
  data.strides.resize(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    data.strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  data.offset = 0;
}

fs::path variant_file(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("variant-{}.json", index);
}

}  // namespace

std::vector<Case> layouts(const Case& lowered, const OpTable& table) {
  std::vector<Case> all{lowered};
  for (const auto place : {gaps, off_the_start, reversed}) {
    Case other = laid_out(lowered, place);
    if (std::ranges::find(all, other) != all.end()) continue;
    try {
      verify(other, table);
      all.push_back(std::move(other));
    } catch (const Error&) {  // a view that such strides do not allow
    }
  }
  return all;
}

std::vector<Case> sizes(const Case& lowered, int most, std::uint64_t seed, const OpTable& table) {
  constexpr std::array<std::int64_t, 12> kSizes = {2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 65};
  constexpr std::int64_t kMostElements = 1024;
  std::vector<Case> all{lowered};
  Random random(seed);
  for (int attempt = 0; attempt < 8 * most && std::ssize(all) <= most; ++attempt) {
    Case other = lowered;
    for (auto& [symbol, size] : other.program.symbols) size = random.pick(kSizes);
    for (InputData& data : other.inputs) data.strides.clear(), data.offset = 0;
    if (std::ranges::find(all, other) != all.end()) continue;
    if (bind_symbols(other.program).nodes != bind_symbols(lowered.program).nodes) break;
    try {
      const Types types = verify(other, table);
      if (std::ranges::all_of(other.program.inputs, [&](const ProgramInput& input) {
            return element_count(types.of({input.name, 0}).shape) <= kMostElements;
          })) {
        all.push_back(std::move(other));
      }
    } catch (const Error&) {  // sizes that do not go together
    }
  }
  return all;
}

void write_variants(const fs::path& folder, const std::vector<Case>& variants) {
  fs::create_directories(folder);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    std::ofstream stream(variant_file(folder, i));
    stream << to_pretty_json(variants[i]);
    if (!stream.flush()) throw Error(variant_file(folder, i).string(), "cannot be written");
  }
}

std::vector<Case> read_variants(const fs::path& folder) {
  std::vector<Case> all;
  while (fs::exists(variant_file(folder, all.size()))) {
    all.push_back(read_case(variant_file(folder, all.size()).string()));
  }
  if (all.empty()) throw Error(folder.string(), "has no variant-0.json");
  return all;
}

bool has_variants(const fs::path& folder) { return fs::exists(variant_file(folder, 0)); }

std::size_t picked_variant(std::span<const std::uint8_t>& bytes, std::size_t count) {
  if (count < 2 || bytes.empty()) return 0;
  const std::size_t picked = bytes.front() % count;
  bytes = bytes.subspan(1);
  return picked;
}

}  // namespace ulpfuzz
