#include "kernels/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

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

fs::path layout_file(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("layout-{}.json", index);
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

void write_layout_folder(const fs::path& folder, const std::vector<Case>& layouts) {
  fs::create_directories(folder);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    std::ofstream stream(layout_file(folder, i));
    stream << to_pretty_json(layouts[i]);
    if (!stream.flush()) throw Error(layout_file(folder, i).string(), "cannot be written");
  }
}

std::vector<Case> read_layout_folder(const fs::path& folder) {
  std::vector<Case> all;
  while (fs::exists(layout_file(folder, all.size()))) {
    all.push_back(read_case(layout_file(folder, all.size()).string()));
  }
  if (all.empty()) throw Error(folder.string(), "has no layout-0.json");
  return all;
}

bool is_layout_folder(const fs::path& folder) { return fs::exists(layout_file(folder, 0)); }

std::size_t picked_layout(std::span<const std::uint8_t>& bytes, std::size_t count) {
  if (bytes.empty()) return 0;
  const std::size_t picked = bytes.front() % count;
  bytes = bytes.subspan(1);
  return picked;
}

}  // namespace ulpfuzz
