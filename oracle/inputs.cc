#include "oracle/inputs.h"

#include <algorithm>
#include <map>

#include "oracle/odometer.h"
#include "oracle/running.h"

namespace ulpfuzz {

namespace {

Shape strides_of(const Shape& shape, const Shape& given) {
  return given.empty() ? contiguous_strides(shape) : given;
}

std::int64_t extent(const Shape& shape, const Shape& strides, std::int64_t offset) {
  std::int64_t last = offset;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return offset;
    last += (shape[d] - 1) * strides[d];
  }
  return last + 1;
}

// Where elements overlap (stride 0), the last one in row-major order stays, as in the workers.
template <class T>
void write(const Tensor<T>& tensor, const Elements& elements) {
  std::size_t i = 0;
  for (const std::int64_t at : positions(tensor.shape(), tensor.strides(), tensor.offset())) {
    if (tensor.integral()) {
      tensor.integer(at) = make_int<T>(elements.integers[i++]);
    } else if (is_complex(tensor.dtype())) {
      tensor.real(2 * at) = widen<T>(elements.reals[i]);
      tensor.real(2 * at + 1) = widen<T>(elements.reals[i + 1]);
      i += 2;
    } else {
      tensor.real(at) = widen<T>(elements.reals[i++]);
    }
  }
}

// The number of elements of the storage that an input lies in, with all that share it.
std::int64_t storage_elements(const Case& c, const std::vector<TensorType>& types, std::size_t i) {
  std::int64_t most = 0;
  for (std::size_t j = 0; j < c.inputs.size(); ++j) {
    if (j != i && (c.inputs[i].alias < 0 || c.inputs[j].alias != c.inputs[i].alias)) continue;
    const Shape& shape = types[j].shape;
    most =
        std::max(most, extent(shape, strides_of(shape, c.inputs[j].strides), c.inputs[j].offset));
  }
  return most;
}

}  // namespace

template <class T>
std::vector<Tensor<T>> make_inputs(const Case& c, const std::vector<TensorType>& types,
                                   const std::function<Elements(std::size_t)>& elements) {
  std::vector<Tensor<T>> tensors;
  std::map<int, Tensor<T>> classes;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const InputData& data = c.inputs[i];
    const Shape strides = strides_of(types[i].shape, data.strides);
    const auto shared = data.alias < 0 ? classes.end() : classes.find(data.alias);
    if (shared != classes.end()) {
      tensors.push_back(shared->second.view(types[i].shape, strides, data.offset));
      continue;
    }
    Tensor<T> tensor(types[i], strides, data.offset, storage_elements(c, types, i));
    write(tensor, elements(i));
    if (data.alias >= 0) classes.emplace(data.alias, tensor);
    tensors.push_back(std::move(tensor));
  }
  std::size_t next = c.inputs.size();
  for (const std::optional<Cotangent>& cotangent : c.cotangents) {
    if (!cotangent) continue;
    const TensorType& type = types[next];
    const Shape strides = strides_of(type.shape, cotangent->strides);
    Tensor<T> tensor(type, strides, 0, extent(type.shape, strides, 0));
    write(tensor, elements(next++));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

template <class T>
std::vector<Tensor<T>> make_inputs(const Case& c, const std::vector<TensorType>& types,
                                   std::uint64_t salt) {
  std::vector<const Fill*> fills;
  for (const InputData& data : c.inputs) fills.push_back(&data.fill);
  for (const std::optional<Cotangent>& cotangent : c.cotangents) {
    if (cotangent) fills.push_back(&cotangent->fill);
  }
  return make_inputs<T>(c, types, [&](std::size_t i) {
    return generate(*fills[i], types[i].dtype, types[i].shape, salt);
  });
}

template std::vector<Tensor<Running<double>>> make_inputs(
    const Case&, const std::vector<TensorType>&, const std::function<Elements(std::size_t)>&);
template std::vector<Tensor<Running<Quad>>> make_inputs(
    const Case&, const std::vector<TensorType>&, const std::function<Elements(std::size_t)>&);
template std::vector<Tensor<double>> make_inputs(const Case&, const std::vector<TensorType>&,
                                                 const std::function<Elements(std::size_t)>&);

template std::vector<Tensor<double>> make_inputs(const Case&, const std::vector<TensorType>&,
                                                 std::uint64_t);
template std::vector<Tensor<Running<double>>> make_inputs(const Case&,
                                                          const std::vector<TensorType>&,
                                                          std::uint64_t);
template std::vector<Tensor<Running<Quad>>> make_inputs(const Case&, const std::vector<TensorType>&,
                                                        std::uint64_t);

}  // namespace ulpfuzz
