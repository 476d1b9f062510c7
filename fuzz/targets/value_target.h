#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/case.h"
#include "kernels/check.h"
#include "kernels/elements.h"
#include "kernels/feedback.h"
#include "kernels/mutate.h"
#include "kernels/subject.h"

namespace ulpfuzz {

// One program whose values are fuzzed: the bytes are the elements of its inputs
// (kernels/elements.h), and each execution is held against exact arithmetic. Where there are
// several variants of it (kernels/variants.h), a byte before the elements picks one. A result
// beyond the bound on all legal executions aborts, with a line that says which.
//
// ULPFUZZ_PASS=wrong,nan-mismatch names kinds that a campaign has seen in this program: an input
// that shows one of them is passed over, so that one fault does not hide the next.
//
// With ULPFUZZ_VALUES=normal or bits every execution draws all its values afresh, from a bell curve
// or as uniform bits, whatever libFuzzer has learned: what feedback is worth is measured against
// that.
class ValueTarget {
 public:
  // What runs variant `index`; refers to `elements`, those of its case.
  using MakeSubject =
      std::function<std::unique_ptr<Subject>(std::size_t index, const InputElements& elements)>;
  // Throws Error when a case does not verify.
  ValueTarget(const std::vector<Case>& variants, const MakeSubject& make);

  // libFuzzer's own: run() gives 0, or -1 where the input asks nothing.
  int run(std::span<const std::uint8_t> data);
  std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

 private:
  struct Variant {
    Variant(const Case& test, std::size_t index, const MakeSubject& make);
    const InputElements elements;
    const std::unique_ptr<Subject> subject;
    KernelCheck check;
    Feedback feedback;
    ElementMutator mutator;
    std::vector<std::byte> whole;
  };

  std::size_t prefix() const { return variants_.size() > 1 ? 1 : 0; }
  std::size_t draw(std::uint8_t* data, std::size_t most, unsigned seed);
  std::size_t put(const Variant& v, std::uint8_t first, std::uint8_t* data) const;
  bool passed_over(const std::vector<Fact>& facts) const;

  std::vector<std::unique_ptr<Variant>> variants_;
  const std::string passed_, drawn_;  // ULPFUZZ_PASS, ULPFUZZ_VALUES
  std::vector<std::span<const std::byte>> results_;
  std::vector<KernelCheck::Distance> distances_;
};

// What the environment's variable `name` says; where it says nothing, the process ends with status
// 2 and `why` on stderr.
std::string required_variable(const char* name, const char* why);

}  // namespace ulpfuzz
