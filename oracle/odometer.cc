#include "oracle/odometer.h"

namespace ulpfuzz {

Shape broadcast_strides(const Shape& from, const Shape& strides, const Shape& shape) {
  Shape wide(shape.size(), 0);
  const std::size_t lead = shape.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] == shape[lead + d]) wide[lead + d] = strides[d];
  }
  return wide;
}

std::vector<std::int64_t> positions(const Shape& shape, const Shape& strides, std::int64_t offset) {
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(element_count(shape)));
  for (Rows<1> rows(shape, {offset}, {strides}); !rows.done(); rows.next()) {
    for (std::int64_t i = 0; i < rows.length(); ++i) all.push_back(rows.at(0) + i * rows.step(0));
  }
  return all;
}

Shape unravel(std::int64_t linear, const Shape& shape) {
  Shape index(shape.size(), 0);
  for (std::size_t d = shape.size(); d-- > 0 && linear > 0;) {
    index[d] = linear % shape[d];
    linear /= shape[d];
  }
  return index;
}

std::int64_t ravel(const Shape& index, const Shape& shape) {
  std::int64_t linear = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) linear = linear * shape[d] + index[d];
  return linear;
}

}  // namespace ulpfuzz
