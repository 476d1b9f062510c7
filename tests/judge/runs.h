#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "ir/run.h"

// Runs as a worker would report them, built by hand.
namespace ulpfuzz {

template <class T>
TensorResult tensor_of(const std::string& name, DType dtype, Shape shape,
                       const std::vector<T>& elements) {
  TensorResult t;
  t.name = name;
  t.layout.dtype = dtype;
  t.layout.strides = contiguous_strides(shape);
  t.layout.shape = std::move(shape);
  t.bytes.resize(elements.size() * sizeof(T));
  std::memcpy(t.bytes.data(), elements.data(), t.bytes.size());
  return t;
}

inline TensorResult floats(const std::string& name, const std::vector<float>& elements) {
  return tensor_of(name, DType::kFloat32, {static_cast<std::int64_t>(elements.size())}, elements);
}

inline TensorResult indices(const std::string& name, const std::vector<std::int64_t>& elements) {
  return tensor_of(name, DType::kInt64, {static_cast<std::int64_t>(elements.size())}, elements);
}

inline Run completed(std::vector<TensorResult> tensors) {
  Run run;
  run.executions.push_back({0, std::move(tensors)});
  return run;
}

inline Run raised(Stage stage, const std::string& type, const std::string& message) {
  Run run;
  run.status = Run::Status::kRaised;
  run.stage = stage;
  run.exception_type = type;
  run.exception_message = message;
  return run;
}

}  // namespace ulpfuzz
