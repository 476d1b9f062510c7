#include "systems/libtorch/tensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "ir/error.h"

namespace ulpfuzz::libtorch {
namespace {

struct Layout {
  DType dtype;
  Shape shape;
  Shape strides;
  std::int64_t offset = 0;
};

// Elements of storage that a layout reaches, from the start of the storage.
std::int64_t extent(const Layout& layout) {
  if (element_count(layout.shape) == 0) return layout.offset;
  std::int64_t last = layout.offset;
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    last += (layout.shape[d] - 1) * layout.strides[d];
  }
  return last + 1;
}

// The elements, contiguous, in the tensor's own type. All are representable in it.
at::Tensor contiguous_elements(const Fill& fill, const Layout& layout, std::uint64_t input_set) {
  const Elements elements = generate(fill, layout.dtype, layout.shape, input_set);
  const at::ScalarType type = scalar_type(layout.dtype);
  if (is_integral(layout.dtype)) {
    at::Tensor wide = at::empty({element_count(layout.shape)}, at::kLong);
    std::ranges::copy(elements.integers, wide.mutable_data_ptr<std::int64_t>());
    return wide.to(type);
  }
  at::Tensor wide = at::empty({static_cast<std::int64_t>(elements.reals.size())}, at::kDouble);
  std::ranges::copy(elements.reals, wide.mutable_data_ptr<double>());
  if (!is_complex(layout.dtype)) return wide.to(type);
  return at::view_as_complex(wide.view({-1, 2})).to(type);
}

// Puts elements in their places, in row-major order: where several share one the last one stays.
void write(const at::Tensor& base, const Layout& layout, const at::Tensor& elements) {
  const auto size = static_cast<std::size_t>(item_size(layout.dtype));
  const auto* from = static_cast<const std::byte*>(elements.const_data_ptr());
  auto* to = static_cast<std::byte*>(base.mutable_data_ptr());
  Shape index(layout.shape.size(), 0);
  std::int64_t position = layout.offset;
  for (std::int64_t i = 0; i < elements.numel(); ++i) {
    std::memcpy(to + static_cast<std::size_t>(position) * size,
                from + static_cast<std::size_t>(i) * size, size);
    for (std::size_t d = index.size(); d-- > 0;) {
      position += layout.strides[d];
      if (++index[d] < layout.shape[d]) break;
      position -= index[d] * layout.strides[d];
      index[d] = 0;
    }
  }
}

at::Tensor make_base(const Fill& fill, const Layout& layout, std::int64_t elements,
                     std::uint64_t input_set, at::Device device) {
  const at::Tensor base = at::zeros({elements}, scalar_type(layout.dtype));
  write(base, layout, contiguous_elements(fill, layout, input_set));
  return base.to(device);
}

Layout input_layout(const Case& c, std::size_t i) {
  const ProgramInput& input = c.program.inputs[i];
  Layout layout{input.dtype, {}, c.inputs[i].strides, c.inputs[i].offset};
  for (const Dim& dim : input.shape) layout.shape.push_back(dim.value(c.program.symbols));
  if (layout.strides.empty()) layout.strides = contiguous_strides(layout.shape);
  return layout;
}

std::int64_t class_extent(const Case& c, int alias) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].alias == alias) largest = std::max(largest, extent(input_layout(c, i)));
  }
  return largest;
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return at::kBool;
    case DType::kUInt8:
      return at::kByte;
    case DType::kInt8:
      return at::kChar;
    case DType::kInt16:
      return at::kShort;
    case DType::kInt32:
      return at::kInt;
    case DType::kInt64:
      return at::kLong;
    case DType::kFloat16:
      return at::kHalf;
    case DType::kBFloat16:
      return at::kBFloat16;
    case DType::kFloat32:
      return at::kFloat;
    case DType::kFloat64:
      return at::kDouble;
    case DType::kComplex64:
      return at::kComplexFloat;
    case DType::kComplex128:
      return at::kComplexDouble;
  }
  throw Error("a dtype without a name");
}

std::optional<DType> known_dtype(at::ScalarType type) {
  for (int i = 0; i <= static_cast<int>(DType::kComplex128); ++i) {
    if (scalar_type(static_cast<DType>(i)) == type) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType dtype_of(at::ScalarType type) {
  if (const std::optional<DType> known = known_dtype(type)) return *known;
  throw Error(std::string("a result of dtype ") + c10::toString(type));
}

std::vector<at::Tensor> make_inputs(const Case& c, std::uint64_t input_set, at::Device device) {
  std::map<int, at::Tensor> classes;
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const InputData& data = c.inputs[i];
    const Layout layout = input_layout(c, i);
    at::Tensor tensor;
    if (data.alias >= 0) {
      at::Tensor& base = classes[data.alias];
      if (!base.defined()) {
        base = make_base(data.fill, layout, class_extent(c, data.alias), input_set, device);
      }
      tensor = base.as_strided(layout.shape, layout.strides, layout.offset);
    } else {
      const at::Tensor base = make_base(data.fill, layout, extent(layout), input_set, device);
      tensor = at::empty({0}, base.options());
      tensor.set_(base.storage(), layout.offset, layout.shape, layout.strides);
    }
    if (std::ranges::find(c.wrt, c.program.inputs[i].name) != c.wrt.end()) {
      tensor.requires_grad_();
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

at::Tensor make_cotangent(const Cotangent& cotangent, const at::Tensor& output,
                          std::uint64_t input_set) {
  Layout layout{dtype_of(output.scalar_type()), output.sizes().vec(), cotangent.strides};
  if (layout.strides.empty()) layout.strides = contiguous_strides(layout.shape);
  return make_base(cotangent.fill, layout, extent(layout), input_set, output.device())
      .as_strided(layout.shape, layout.strides, 0);
}

}  // namespace ulpfuzz::libtorch
