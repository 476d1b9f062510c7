#include "systems/libtorch/package.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <link.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <filesystem>
#include <set>
#include <string>

#include "ir/error.h"

namespace ulpfuzz::libtorch {
namespace {

namespace fs = std::filesystem;

std::set<std::string> loaded_libraries() {
  std::set<std::string> names;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        static_cast<std::set<std::string>*>(found)->insert(info->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

// The folder that an archive was unpacked to, from the path of a library in it.
fs::path unpacked_folder(const std::string& library) {
  const std::size_t inside = library.find("/data/aotinductor/");
  return inside == library.npos ? fs::path() : fs::path(library.substr(0, inside));
}

}  // namespace

void prepare_for_packages() {
  static bool done = false;
  if (done) return;
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &here) == 0) {
    throw Error("libtorch_cpu.so", "is not to be found in this process");
  }
  const fs::path library = fs::path(here.dli_fname).parent_path() / "libtorch.so";
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw Error(::dlerror());
  done = true;
}

Package::Package(int fd, at::Device device) {
  const std::set<std::string> before = loaded_libraries();
  loader_ = std::make_unique<torch::inductor::AOTIModelPackageLoader>("/proc/self/fd/" +
                                                                      std::to_string(fd));
  if (!device.is_cpu()) return;  // kernels of a GPU are read when they are first called
  for (const std::string& library : loaded_libraries()) {
    if (before.contains(library)) continue;
    std::error_code ignored;  // the loader tries again in the end
    if (const fs::path folder = unpacked_folder(library); !folder.empty()) {
      fs::remove_all(folder, ignored);
    }
  }
}

Package::~Package() = default;

std::vector<at::Tensor> Package::run(const std::vector<at::Tensor>& inputs) {
  return loader_->run(inputs);
}

}  // namespace ulpfuzz::libtorch
