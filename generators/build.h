#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz {

// Writes a pre_dispatch Program the way a model's source reads: a call a line. Shapes are the
// recipe's business; the verifier checks what comes out.
class ProgramBuilder {
 public:
  // A size symbol, to write input shapes and size arguments with.
  Dim symbol(const std::string& name, std::int64_t value);

  Ref input(const std::string& name, DType dtype, std::vector<Dim> shape, Fill fill);
  // A floating input that gradients are taken of.
  Ref parameter(const std::string& name, DType dtype, std::vector<Dim> shape, Fill fill);

  // `op` without the namespace: "add.Tensor". Arguments in schema order.
  Ref call(const std::string& name, const std::string& op, std::vector<NamedArgument> args);

  void output(const Ref& ref, std::optional<Cotangent> cotangent = std::nullopt);

  // The case so far: program, inputs, wrt (all parameters) and cotangents. Without a cotangent
  // there is no backward pass, and wrt stays empty.
  Case take() &&;

 private:
  Case case_;
  std::vector<std::string> parameters_;
};

}  // namespace ulpfuzz
