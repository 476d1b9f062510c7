#pragma once

#include <cstddef>
#include <span>

namespace ulpfuzz {

// Code under test in this process: a program that somebody else has made ready, run on elements
// (kernels/elements.h) a hundred thousand times a second. It may crash, or write where it should
// not.
class Subject {
 public:
  virtual ~Subject() = default;
  // Runs on InputElements::bytes() of elements. False where it refuses them, which is no fault.
  virtual bool run(std::span<const std::byte> whole) = 0;
  // Elements of a result, in a Run's order, row-major, as torch stores them; good until the next
  // run(). Empty: not there.
  virtual std::span<const std::byte> result(std::size_t index) = 0;
};

}  // namespace ulpfuzz
