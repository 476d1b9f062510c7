#include "generators/layout.h"

#include <algorithm>
#include <numeric>

namespace ulpfuzz {
namespace {

// Dense strides when the dimensions lie in memory in `order`, outermost first.
Shape strides_in_order(const Shape& shape, const std::vector<std::size_t>& order) {
  Shape strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<std::int64_t>(shape[order[i]], 1);
  }
  return strides;
}

std::vector<std::size_t> row_major(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::size_t> permuted(Random& random, std::size_t rank) {
  std::vector<std::size_t> order = row_major(rank);
  if (rank < 2) return order;
  if (rank >= 3 && random.chance(0.4)) {  // channels last: the second dimension moves inside
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  } else if (random.chance(0.6)) {  // the last two swapped
    std::swap(order[rank - 1], order[rank - 2]);
  } else {
    for (std::size_t i = rank - 1; i > 0; --i) {
      std::swap(order[i], order[static_cast<std::size_t>(random.integer(0, std::int64_t(i)))]);
    }
  }
  return order;
}

// The strides of a slice of something larger: one dimension taken from a longer or stepped one.
void add_gap(Random& random, const Shape& shape, Shape& strides) {
  if (shape.empty()) return;
  const std::size_t dim =
      static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(shape.size()) - 1));
  const std::int64_t from = strides[dim];
  const bool stepped = random.chance(0.4);  // x[::2]; otherwise x[:n] of a longer dimension
  const std::int64_t extra = random.integer(1, 3);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] < from || (!stepped && i == dim)) continue;
    // Longer by `extra`: what lies outside of this dimension moves apart.
    strides[i] = stepped || shape[dim] == 0 ? strides[i] * 2
                                            : strides[i] / shape[dim] * (shape[dim] + extra);
  }
}

void odd_ones(Random& random, const Shape& shape, Shape& strides) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1 && random.chance(0.5)) strides[i] = random.integer(0, 17);
  }
}

}  // namespace

void draw_layout(Random& random, const Shape& shape, bool may_expand, InputData& data) {
  Shape strides = contiguous_strides(shape);
  const std::size_t kind = random.weighted({4, 3, 3, may_expand ? 1.5 : 0.0});
  if (kind == 0 || kind == 2) strides = strides_in_order(shape, permuted(random, shape.size()));
  if (kind == 1 || kind == 2) add_gap(random, shape, strides);
  if (kind == 3 && !shape.empty()) {
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    Shape stored = shape;
    const std::size_t dim = static_cast<std::size_t>(random.integer(0, last));
    stored[dim] = 1;
    strides = strides_in_order(stored, row_major(stored.size()));
    strides[dim] = 0;
  }
  if (random.chance(0.5)) odd_ones(random, shape, strides);
  data.offset = random.chance(0.25) ? random.integer(1, 9) : 0;
  const bool plain = strides == contiguous_strides(shape);
  data.strides = plain ? Shape{} : strides;
}

bool is_non_overlapping(const Shape& shape, const Shape& strides) {
  if (strides.empty()) return true;
  std::vector<std::size_t> order = row_major(shape.size());
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return strides[a] != strides[b] ? strides[a] < strides[b] : a < b;
  });
  std::int64_t reach = 0;  // distance from the first to the last element so far
  for (const std::size_t i : order) {
    if (shape[i] <= 1) continue;
    if (strides[i] <= reach) return false;
    reach += strides[i] * (shape[i] - 1);
  }
  return true;
}

}  // namespace ulpfuzz
