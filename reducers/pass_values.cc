#include <algorithm>

#include "ir/verify.h"
#include "reducers/edit.h"
#include "reducers/elements.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kFewLiterals = 64;  // each is tried as 0 and 1 on its own

Fill single(double value, DType dtype) {
  Fill fill;
  fill.kind = Fill::Kind::kLiteral;
  if (is_integral(dtype)) {
    fill.integers = {static_cast<std::int64_t>(value)};
  } else {
    fill.values = {value};
  }
  return fill;
}

Fill plain(DType dtype) {
  Fill fill;
  if (is_integral(dtype)) {
    fill.kind = Fill::Kind::kInteger;
    fill.high = dtype == DType::kBool ? 1 : 9;
  }
  return fill;
}

// Blocks of literals, halving, as zeros and as ones.
template <class T>
void blocks(const Fill& fill, std::vector<T> Fill::*field, std::vector<Fill>& out) {
  const std::size_t n = (fill.*field).size();
  for (std::size_t width = n; width >= 1; width /= 2) {
    if (width == 1 && n > kFewLiterals) break;
    for (std::size_t first = 0; first < n; first += width) {
      for (const T value : {T(0), T(1)}) {
        Fill changed = fill;
        for (std::size_t i = first; i < std::min(n, first + width); ++i) {
          (changed.*field)[i] = value;
        }
        out.push_back(std::move(changed));
      }
    }
  }
}

// One element kept and all others zero: where a rule made the elements, halving would pass through
// lists that are longer than the rule.
void lone_elements(const Fill& fill, std::vector<Fill>& out) {
  for (std::size_t i = 0; i < fill.values.size() && fill.values.size() <= kFewLiterals; ++i) {
    Fill changed = fill;
    changed.values.assign(fill.values.size(), 0.0);
    changed.values[i] = fill.values[i];
    out.push_back(std::move(changed));
  }
}

// Plainer elements for a tensor, plainest first.
std::vector<Fill> plainer(const Fill& fill, const TensorType& type) {
  const DType dtype = type.dtype;
  std::vector<Fill> all{single(0, dtype), single(1, dtype)};
  const bool literal = fill.kind == Fill::Kind::kLiteral;
  // One number for all elements: the fault of a value, wherever it stands.
  for (std::size_t i = 0; literal && i < std::min(kFewLiterals, fill.values.size()); ++i) {
    all.push_back(single(fill.values[i], dtype));
  }
  for (std::size_t i = 0; literal && i < std::min(kFewLiterals, fill.integers.size()); ++i) {
    Fill one = single(0, DType::kInt64);
    one.integers = {fill.integers[i]};
    all.push_back(std::move(one));
  }
  for (const double special : fill.special_rate > 0 ? fill.values : std::vector<double>{}) {
    if (!is_integral(dtype)) all.push_back(single(special, dtype));
  }
  all.push_back(plain(dtype));
  if (!literal) {
    Fill changed = fill;
    changed.special_rate = 0;
    if (fill.kind != Fill::Kind::kChoice) changed.values.clear();
    all.push_back(changed);
    changed = fill;
    changed.seed = 0;
    all.push_back(changed);
    changed = fill;
    changed.scale = 1;
    changed.shift = 0;
    all.push_back(changed);
  }
  std::optional<Fill> written = fill;
  if (!literal) {
    const Box whole{Shape(type.shape.size(), 0), type.shape};
    const bool few = element_count(type.shape) <= static_cast<std::int64_t>(kFewLiterals);
    written = few ? literal_part(fill, dtype, type.shape, whole) : std::nullopt;
  }
  if (written) {
    blocks(*written, &Fill::values, all);
    blocks(*written, &Fill::integers, all);
    if (!literal) lone_elements(*written, all);
  }
  return all;
}

}  // namespace

std::vector<Case> value_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c)) return {};
  const Types types = verify(c.program, table);
  std::vector<Case> candidates;
  const auto propose = [&](Case candidate) {
    if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
      candidates.push_back(std::move(*tidied));
    }
  };
  for (const double value : {0.0, 1.0}) {
    Case same = c;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      same.inputs[i].fill = single(value, c.program.inputs[i].dtype);
    }
    for (auto& cotangent : same.cotangents) {
      if (cotangent) cotangent->fill = single(1, DType::kFloat32);
    }
    propose(std::move(same));
  }
  Case all = c;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    all.inputs[i].fill = plain(c.program.inputs[i].dtype);
  }
  for (auto& cotangent : all.cotangents) {
    if (cotangent) cotangent->fill = Fill{};
  }
  propose(all);
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    if (!c.cotangents[i]) continue;
    for (Fill& fill : plainer(c.cotangents[i]->fill, types.of(c.program.outputs[i]))) {
      Case candidate = c;
      candidate.cotangents[i]->fill = std::move(fill);
      propose(std::move(candidate));
    }
  }
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    for (Fill& fill : plainer(c.inputs[i].fill, types.of({c.program.inputs[i].name, 0}))) {
      Case candidate = c;
      candidate.inputs[i].fill = std::move(fill);
      propose(std::move(candidate));
    }
  }
  return candidates;
}

}  // namespace ulpfuzz
