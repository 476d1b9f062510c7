#include "ops/indices.h"

#include <numeric>

namespace ulpfuzz {

void require_index(const Call& call, std::string_view arg) {
  const DType dtype = call.tensor(arg).dtype;
  if (dtype != DType::kInt64 && dtype != DType::kInt32) {
    call.fail(std::string(arg) + " must be int64 or int32");
  }
}

Ref draw_indices(Draw& d, const Shape& shape, std::int64_t size, bool negative) {
  Fill fill;
  fill.kind = Fill::Kind::kInteger;
  fill.seed = d.random().bits();
  fill.low = negative && d.random().chance(0.3) ? -size : 0;
  fill.high = size - 1;
  return d.new_input(d.random().chance(0.1) ? DType::kInt32 : DType::kInt64, shape, fill);
}

Ref draw_distinct_indices(Draw& d, std::int64_t count, std::int64_t size) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto j = static_cast<std::size_t>(d.random().integer(i, size - 1));
    std::swap(all[static_cast<std::size_t>(i)], all[j]);
  }
  Fill fill;
  fill.kind = Fill::Kind::kLiteral;
  fill.integers.assign(all.begin(), all.begin() + count);
  // One literal stands for all elements, so a single one is no special case.
  return d.new_input(DType::kInt64, {count}, fill);
}

}  // namespace ulpfuzz
