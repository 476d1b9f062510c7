#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/dtype.h"

namespace ulpfuzz {

// How the bytes that a fuzzer mutates are read as the inputs of a program: the elements of all
// inputs one after another, row-major, as torch stores them (bool by its lowest bit). Integers are
// taken into the range that the case's fill has there, so that indices stay indices.
//
// Bytes that are too few are read over and over. An element beyond the end is one of those that are
// there with another sign, some ulps away, with another exponent or another significand, as a hash
// of its place decides: a short input is many values around a few.
class InputElements {
 public:
  struct Input {
    DType dtype = DType::kFloat32;        // of an element: of a complex input, its parts
    std::int64_t count = 0;               // elements
    std::int64_t low = 0, high = 0;       // of an integral one, inclusive
    bool zero = true;                     // an integral one may be 0; else 0 becomes 1
    std::vector<std::int64_t> positions;  // of each element in its storage
    std::int64_t storage = 0;             // elements
    std::size_t begin = 0;                // of its bytes among those of all inputs
    std::size_t width = 0;                // bytes an element
  };

  // Of a case whose inputs share no storage. Throws Error when they do.
  explicit InputElements(const Case& lowered);

  const std::vector<Input>& inputs() const { return inputs_; }
  std::size_t bytes() const { return bytes_; }  // of all elements

  // `data` as bytes() bytes of elements in their ranges. The two may be the same memory where
  // `data` is long enough.
  void expand(std::span<const std::uint8_t> data, std::span<std::byte> whole) const;

 private:
  std::vector<Input> inputs_;
  std::size_t bytes_ = 0;
};

// The case with elements (bytes() of them) as literals.
Case with_literals(const Case& lowered, const InputElements& elements,
                   std::span<const std::byte> whole);

}  // namespace ulpfuzz
