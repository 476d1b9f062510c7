#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace torch::inductor {
class AOTIModelPackageLoader;
}

namespace ulpfuzz::libtorch {

// Loads what packages are linked with and this worker is not (libtorch.so, which brings CUDA's
// libraries where torch was built so), once in a process: to be called before forking. Throws
// Error.
void prepare_for_packages();

// A package that AOTInductor made, loaded by torch's own loader.
class Package {
 public:
  // `fd` is a memfd that holds the archive. The loader unpacks it into a folder; on a CPU that is
  // gone when this returns, so that a crash leaves nothing behind. Throws what the loader throws.
  Package(int fd, at::Device device);
  ~Package();
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  // The outputs, forward only.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

 private:
  std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;
};

}  // namespace ulpfuzz::libtorch
