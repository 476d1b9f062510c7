#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz {

// A number as Python reads it back: the shortest decimal that rounds to `value` in `dtype`;
// float("nan"), float("inf").
std::string python_number(double value, DType dtype = DType::kFloat64);

// Python that builds tensors: the numbers, in the memory layout asked for. Small tensors are
// written out; for large ones the rule of ir/fill.h is printed, once a script.
class TensorText {
 public:
  explicit TensorText(std::uint64_t salt = 0) : salt_(salt) {}

  // Statements that assign every input of the (bound) case, in order.
  std::vector<std::string> inputs(const Case& c);
  // Statements that assign the cotangent of output `index` to `name`.
  std::vector<std::string> cotangent(const std::string& name, const Cotangent& cotangent,
                                     DType dtype, const Shape& shape);
  // Functions that the statements so far need; empty when none.
  std::string functions() const;

 private:
  struct Layout {
    Shape strides;  // empty: contiguous
    std::int64_t offset = 0;
    std::int64_t extent = 0;  // elements of storage; 0: what the layout reaches
  };
  std::string values(const Fill& fill, DType dtype, const Shape& shape);
  std::string drawn(const Fill& fill, DType dtype, const Shape& shape);
  std::string laid_out(const Fill& fill, DType dtype, const Shape& shape, const Layout& layout,
                       const std::string& name, std::vector<std::string>& lines);

  std::uint64_t salt_;
  std::set<std::string> functions_;  // names of those needed
};

}  // namespace ulpfuzz
