#include "reducers/elements.h"

#include <bit>
#include <set>

#include "ir/error.h"
#include "reducers/plain.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kMostLiterals = 4096;
constexpr std::int64_t kRuleWeight = 200;  // of a rule: that of a handful of odd literals

// Numbers by plainness, and how many different ones there are.
template <class T>
std::int64_t list_weight(const std::vector<T>& list) {
  std::int64_t sum = 0;
  std::set<std::uint64_t> different;
  for (const T value : list) {
    sum += number_weight(static_cast<double>(value));
    different.insert(std::bit_cast<std::uint64_t>(value));
  }
  return sum + static_cast<std::int64_t>(different.size());
}

// Position in the whole tensor of element i of the box.
std::int64_t position(const Box& box, const Shape& steps, std::int64_t i) {
  std::int64_t at = 0;
  for (std::size_t d = box.shape.size(); d-- > 0;) {
    at += (box.first[d] + i % box.shape[d]) * steps[d];
    i /= box.shape[d];
  }
  return at;
}

}  // namespace

std::optional<Fill> literal_part(const Fill& fill, DType dtype, const Shape& shape,
                                 const Box& box) {
  const std::int64_t n = element_count(box.shape);
  if (n > kMostLiterals || n == 0) return std::nullopt;
  Elements all;
  try {
    all = generate(fill, dtype, shape);
  } catch (const Error&) {
    return std::nullopt;
  }
  Fill part;
  part.kind = Fill::Kind::kLiteral;
  const Shape steps = contiguous_strides(shape);
  const std::int64_t reals = is_complex(dtype) ? 2 : 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = position(box, steps, i);
    if (!all.integers.empty()) {
      part.integers.push_back(all.integers[static_cast<std::size_t>(at)]);
      continue;
    }
    for (std::int64_t r = 0; r < reals; ++r) {
      part.values.push_back(all.reals[static_cast<std::size_t>(at * reals + r)]);
    }
  }
  return part;
}

std::int64_t fill_weight(const Fill& fill) {
  if (fill.kind == Fill::Kind::kLiteral) {
    return 1 + list_weight(fill.values) + list_weight(fill.integers);
  }
  std::int64_t sum = kRuleWeight;
  if (fill.kind != Fill::Kind::kNormal && fill.kind != Fill::Kind::kInteger) ++sum;
  if (fill.seed != 0) ++sum;
  if (fill.special_rate != 0) sum += 1 + static_cast<std::int64_t>(fill.values.size());
  if (fill.kind == Fill::Kind::kChoice) sum += static_cast<std::int64_t>(fill.values.size());
  if (fill.scale != 1) ++sum;
  if (fill.shift != 0) ++sum;
  return sum;
}

}  // namespace ulpfuzz
