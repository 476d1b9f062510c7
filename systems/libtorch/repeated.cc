#include "systems/libtorch/repeated.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "systems/libtorch/execute.h"
#include "systems/libtorch/faults.h"
#include "systems/libtorch/results.h"
#include "systems/libtorch/switches.h"
#include "systems/libtorch/tensors.h"

namespace ulpfuzz::libtorch {
namespace {

// Bytes from the start of the storage to each element, row-major.
std::vector<std::size_t> places(const at::Tensor& tensor) {
  const at::Tensor indices =
      at::arange(static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.itemsize()))
          .as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset())
          .contiguous();
  std::vector<std::size_t> at;
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    at.push_back(static_cast<std::size_t>(indices.const_data_ptr<std::int64_t>()[i]) *
                 tensor.itemsize());
  }
  return at;
}

}  // namespace

struct RepeatedCase::Tensors {
  std::vector<at::Tensor> inputs;
  std::vector<std::vector<std::size_t>> places;  // of each input's elements
  std::vector<at::Tensor> results;               // row-major; undefined: None
};

RepeatedCase::RepeatedCase(Case c, std::vector<std::string> written, std::string fault)
    : case_(std::move(c)),
      written_(std::move(written)),
      fault_(std::move(fault)),
      tensors_(std::make_unique<Tensors>()) {
  Environment environment = case_.environment;
  fault_in_environment(fault_, environment);
  apply(environment);
  tensors_->inputs = make_inputs(case_, 0, at::kCPU);
  for (const at::Tensor& input : tensors_->inputs) tensors_->places.push_back(places(input));
}

RepeatedCase::~RepeatedCase() = default;

bool RepeatedCase::run(std::span<const std::byte> elements) {
  const std::byte* from = elements.data();
  for (std::size_t i = 0; i < tensors_->inputs.size(); ++i) {
    const at::Tensor& input = tensors_->inputs[i];
    auto* const to = static_cast<std::byte*>(input.storage().mutable_data());
    const std::size_t size = input.itemsize();
    for (const std::size_t at : tensors_->places[i]) {
      std::memcpy(to + at, from, size);
      from += size;
    }
  }
  tensors_->results.clear();
  try {
    fault_before_forward(fault_);
    Outcome outcome = execute_on(case_, tensors_->inputs, 0, [](Stage) {});
    fault_in_results(fault_, outcome);
    for (const at::Tensor& output : outcome.outputs) tensors_->results.push_back(plain(output));
    const std::vector<ProgramInput>& inputs = case_.program.inputs;
    for (const std::string& name : written_) {
      const auto at = std::ranges::find(inputs, name, &ProgramInput::name) - inputs.begin();
      tensors_->results.push_back(plain(outcome.inputs.at(static_cast<std::size_t>(at))));
    }
    for (const at::Tensor& gradient : outcome.gradients) {
      tensors_->results.push_back(gradient.defined() ? plain(gradient) : at::Tensor());
    }
  } catch (const c10::Error&) {
    return false;
  }
  return true;
}

std::span<const std::byte> RepeatedCase::result(std::size_t index) const {
  const at::Tensor& tensor = tensors_->results.at(index);
  if (!tensor.defined()) return {};
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace ulpfuzz::libtorch
