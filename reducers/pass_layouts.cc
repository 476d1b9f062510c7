#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// One stride at a time: as if contiguous, 1, half; those of dimensions of size 1, which move no
// element, too.
template <class Propose>
void smaller_strides(const Case& c, std::size_t i, const Shape& shape, const Propose& propose) {
  const Shape plain = contiguous_strides(shape);
  for (std::size_t d = 0; d < c.inputs[i].strides.size(); ++d) {
    const std::int64_t stride = c.inputs[i].strides[d];
    for (const std::int64_t other : {plain[d], std::int64_t{1}, stride / 2, stride - 1}) {
      if (other >= stride || other < 1) continue;
      Case candidate = c;
      candidate.inputs[i].strides[d] = other;
      propose(std::move(candidate));
    }
  }
}

}  // namespace

std::vector<Case> layout_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c)) return {};
  std::vector<Case> candidates;
  const auto propose = [&](Case candidate) {
    if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
      candidates.push_back(std::move(*tidied));
    }
  };
  Case all = c;
  for (InputData& input : all.inputs) {
    input.strides.clear();
    input.offset = 0;
    input.alias = -1;
  }
  for (auto& cotangent : all.cotangents) {
    if (cotangent) cotangent->strides.clear();
  }
  propose(all);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Case candidate = c;
    candidate.inputs[i] = all.inputs[i];
    propose(candidate);
    candidate = c;
    candidate.inputs[i].strides.clear();
    propose(candidate);
    candidate = c;
    candidate.inputs[i].offset = 0;
    propose(candidate);
    // Gaps and offsets gone, the order of dimensions in memory kept.
    Shape shape;
    for (const Dim& dim : c.program.inputs[i].shape) shape.push_back(dim.value(c.program.symbols));
    candidate = c;
    candidate.inputs[i].strides = strides_like(c.inputs[i].strides, shape, shape);
    candidate.inputs[i].offset = 0;
    propose(candidate);
    for (const std::int64_t offset : {std::int64_t{1}, c.inputs[i].offset / 2}) {
      candidate = c;
      candidate.inputs[i].offset = offset;
      if (offset < c.inputs[i].offset) propose(candidate);
    }
    smaller_strides(c, i, shape, propose);
  }
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    Case candidate = c;
    candidate.cotangents[i] = all.cotangents[i];
    propose(std::move(candidate));
  }
  return candidates;
}

}  // namespace ulpfuzz
