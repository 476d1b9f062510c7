#include "reducers/edit.h"

#include <algorithm>
#include <numeric>

#include "ir/error.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {

std::optional<Case> tidy(Case c, const OpTable& table) {
  try {
    c.program = without_dead_code(c.program, table);
    std::vector<std::size_t> kept;
    c.program = without_unused_inputs(c.program, kept);
    std::vector<InputData> inputs;
    for (const std::size_t i : kept) inputs.push_back(c.inputs[i]);
    c.inputs = std::move(inputs);
    std::erase_if(c.wrt,
                  [&](const std::string& name) { return c.program.find_input(name) == nullptr; });
    const Types types = verify(c.program, table);
    bool flows = false;
    c.cotangents.resize(c.program.outputs.size());
    for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
      if (c.wrt.empty() || !is_floating(types.of(c.program.outputs[i]).dtype)) {
        c.cotangents[i].reset();
      }
      flows |= c.cotangents[i].has_value();
    }
    if (!flows) c.wrt.clear();
    if (c.program.outputs.empty()) return std::nullopt;
    verify(c, table);
    return c;
  } catch (const Error&) {
    return std::nullopt;  // not every candidate is a program
  }
}

Case with_outputs(const Case& c, const std::vector<KeptOutput>& outputs, const Types& types) {
  Case result = c;
  result.program.outputs.clear();
  result.cotangents.clear();
  for (const KeptOutput& output : outputs) {
    result.program.outputs.push_back(output.value);
    std::optional<Cotangent> cotangent;
    if (output.cotangent_of >= 0 &&
        static_cast<std::size_t>(output.cotangent_of) < c.cotangents.size()) {
      cotangent = c.cotangents[static_cast<std::size_t>(output.cotangent_of)];
    } else if (!c.wrt.empty() && is_floating(types.of(output.value).dtype)) {
      cotangent.emplace();
    }
    result.cotangents.push_back(std::move(cotangent));
  }
  return result;
}

Case with_input(const Case& c, const Ref& value, const TensorType& type, const Fill& fill) {
  Case result = c;
  ProgramInput input;
  input.name = fresh_name(c.program, value.name + "_in");
  input.dtype = type.dtype;
  input.shape.assign(type.shape.begin(), type.shape.end());
  const Ref replacement{input.name, 0};
  const auto rename = [&](const Ref& ref) { return ref == value ? replacement : ref; };
  for (Node& node : result.program.nodes) rename_operands(node, rename);
  for (Ref& output : result.program.outputs) output = rename(output);
  result.program.inputs.push_back(std::move(input));
  InputData data;
  data.fill = fill;
  result.inputs.push_back(std::move(data));
  // What flowed into the value flows into the input: the backward pass keeps its way.
  if (!c.wrt.empty() && is_floating(type.dtype)) result.wrt.push_back(replacement.name);
  return result;
}

Shape strides_like(const Shape& old_strides, const Shape& old_shape, const Shape& shape) {
  if (old_strides.empty() || old_shape.size() != shape.size()) return {};
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return old_strides[a] > old_strides[b]; });
  Shape strides(shape.size(), 0);
  std::int64_t step = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (old_strides[*it] == 0 && old_shape[*it] > 1) continue;  // expanded
    strides[*it] = step;
    step *= std::max<std::int64_t>(shape[*it], 1);
  }
  return strides == contiguous_strides(shape) ? Shape{} : strides;
}

Fill fill_like(const Fill& fill, const Shape& old_shape, const Shape& shape) {
  const std::size_t literals = std::max(fill.values.size(), fill.integers.size());
  if (fill.kind != Fill::Kind::kLiteral || literals <= 1 || old_shape == shape) return fill;
  if (old_shape.size() != shape.size()) return fill;  // verify will say that it does not fit
  Fill result = fill;
  result.values.clear();
  result.integers.clear();
  const Shape steps = contiguous_strides(old_shape);
  const std::int64_t n = element_count(shape);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += (rest % shape[d]) * steps[d];
      rest /= shape[d];
    }
    const auto position = static_cast<std::size_t>(at);
    if (!fill.values.empty()) result.values.push_back(fill.values[position]);
    if (!fill.integers.empty()) result.integers.push_back(fill.integers[position]);
  }
  return result;
}

}  // namespace ulpfuzz
