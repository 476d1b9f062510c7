#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "systems/libtorch/execute.h"
#include "systems/unique_fd.h"

namespace ulpfuzz::libtorch {

// As a result is read: on the host, row-major, with its own values and no views pending.
at::Tensor plain(const at::Tensor& tensor);

// A memfd that elements are appended to.
class ElementFile {
 public:
  ElementFile();  // throws Error
  int fd() const { return fd_.get(); }

  struct Range {
    std::int64_t at, bytes;
  };
  // The elements in row-major order, as torch stores them.
  Range append(const at::Tensor& tensor);

 private:
  UniqueFd fd_;
  std::int64_t size_ = 0;
};

// The tensors of an execution as PROTOCOL.md lists them; `written` names the inputs that the
// program writes.
nlohmann::json describe(const Case& c, const std::vector<std::string>& written,
                        const Outcome& outcome, ElementFile& elements);

}  // namespace ulpfuzz::libtorch
