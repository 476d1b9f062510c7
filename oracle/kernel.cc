#include "oracle/kernel.h"

namespace ulpfuzz {

template <class T>
const Tensor<T>& Kernel<T>::in(std::string_view arg) const {
  const std::vector<Tensor<T>>& tensors = list(arg);
  if (tensors.empty()) call_.fail("no tensor in argument '" + std::string(arg) + "'");
  return tensors.front();
}

template <class T>
const std::vector<Tensor<T>>& Kernel<T>::list(std::string_view arg) const {
  for (const Binding& binding : bindings_) {
    if (binding.arg == arg) return binding.tensors;
  }
  call_.fail("no argument '" + std::string(arg) + "' holds tensors");
}

template <class T>
void Kernel<T>::bind(std::string_view arg, std::vector<Tensor<T>> tensors) {
  bindings_.push_back({arg, std::move(tensors)});
}

template class Kernel<double>;
template class Kernel<Running<double>>;
template class Kernel<Running<Quad>>;

}  // namespace ulpfuzz
