#include "reducers/edit.h"
#include "reducers/passes.h"

namespace ulpfuzz {

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
  }
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    Case candidate = c;
    candidate.cotangents[i] = all.cotangents[i];
    propose(std::move(candidate));
  }
  return candidates;
}

}  // namespace ulpfuzz
