#include "systems/libtorch/results.h"

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "systems/libtorch/tensors.h"

namespace ulpfuzz::libtorch {
namespace {

using Json = nlohmann::json;

// Who first used a storage.
class Aliases {
 public:
  // The name that was seen first with this storage; "" when that is `name`.
  std::string owner(const at::Tensor& tensor, const std::string& name) {
    const void* storage = tensor.storage().data();
    if (storage == nullptr) return "";
    const std::string& first = owners_.try_emplace(storage, name).first->second;
    return first == name ? "" : first;
  }

 private:
  std::map<const void*, std::string> owners_;
};

Json present(const char* role, const std::string& name, const at::Tensor& tensor,
             const std::string& alias_of, ElementFile& elements) {
  const ElementFile::Range range = elements.append(tensor);
  return {{"role", role},
          {"name", name},
          {"present", true},
          {"dtype", ulpfuzz::name(dtype_of(tensor.scalar_type()))},
          {"shape", tensor.sizes().vec()},
          {"strides", tensor.strides().vec()},
          {"offset", tensor.storage_offset()},
          {"alias_of", alias_of},
          {"at", range.at},
          {"bytes", range.bytes}};
}

}  // namespace

at::Tensor plain(const at::Tensor& tensor) {
  // Autograd's zeros without storage (the gradient of sgn) become real ones.
  const at::Tensor stored =
      tensor._is_zerotensor() ? at::zeros(tensor.sizes(), tensor.options()) : tensor.detach();
  return stored.cpu().resolve_conj().resolve_neg().contiguous();
}

ElementFile::ElementFile() : fd_(::memfd_create("ulpfuzz-results", MFD_CLOEXEC)) {
  if (!fd_) throw Error(std::string("cannot make a memfd: ") + std::strerror(errno));
}

ElementFile::Range ElementFile::append(const at::Tensor& tensor) {
  const at::Tensor read = plain(tensor);
  const Range range{size_, static_cast<std::int64_t>(read.nbytes())};
  const auto* bytes = static_cast<const char*>(read.const_data_ptr());
  for (std::int64_t done = 0; done < range.bytes;) {
    const ssize_t n =
        ::write(fd_.get(), bytes + done, static_cast<std::size_t>(range.bytes - done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error(std::string("cannot write to a memfd: ") + std::strerror(errno));
    done += n;
  }
  size_ += range.bytes;
  return range;
}

Json describe(const Case& c, const std::vector<std::string>& written, const Outcome& outcome,
              ElementFile& elements) {
  const std::vector<ProgramInput>& inputs = c.program.inputs;
  Aliases aliases;
  for (std::size_t i = 0; i < inputs.size(); ++i) aliases.owner(outcome.inputs[i], inputs[i].name);

  Json tensors = Json::array();
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    const std::string name = "output " + std::to_string(i);
    const at::Tensor& tensor = outcome.outputs[i];
    tensors.push_back(present("output", name, tensor, aliases.owner(tensor, name), elements));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::ranges::find(written, inputs[i].name) == written.end()) continue;
    tensors.push_back(
        present("written-input", inputs[i].name + " after", outcome.inputs[i], "", elements));
  }
  for (std::size_t i = 0; i < outcome.gradients.size(); ++i) {
    const std::string name = "gradient of " + c.wrt[i];
    const at::Tensor& tensor = outcome.gradients[i];
    tensors.push_back(tensor.defined()
                          ? present("gradient", name, tensor, aliases.owner(tensor, name), elements)
                          : Json{{"role", "gradient"}, {"name", name}, {"present", false}});
  }
  return tensors;
}

}  // namespace ulpfuzz::libtorch
