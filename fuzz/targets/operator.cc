#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/targets/value_target.h"
#include "ir/rewrite.h"
#include "kernels/variants.h"
#include "ops/table.h"
#include "systems/fault.h"
#include "systems/libtorch/repeated.h"

// An operator of ATen's in this process, in the layouts of the folder that ULPFUZZ_OPERATOR names
// (kernels/variants.h): each has code of its own, such as a vector body with a scalar tail, or a
// scalar loop, and all are held against the same exact result. ULPFUZZ_FAULT plants a fault into
// what is run (systems/fault.h), for tests.
namespace {

using namespace ulpfuzz;

class Eager : public Subject {
 public:
  Eager(const Case& bound, const std::string& fault)
      : case_(bound, functionalise(bound.program, op_table()).written_inputs, fault) {}
  bool run(std::span<const std::byte> whole) override { return case_.run(whole); }
  std::span<const std::byte> result(std::size_t index) override { return case_.result(index); }

 private:
  libtorch::RepeatedCase case_;
};

// Made once, and never destroyed: libFuzzer ends without leaving main().
ValueTarget& target() {
  static ValueTarget& made = *[] {
    const std::string folder = required_variable(
        "ULPFUZZ_OPERATOR", "must name a folder that 'ulpfuzz fuzz --operators' made");
    try {
      const char* named = std::getenv("ULPFUZZ_FAULT");
      const std::string fault = named == nullptr ? "" : named;
      const bool in_program = !fault.empty() && fault_kind(fault).in_program;
      const std::vector<Case> all = read_variants(folder);
      return new ValueTarget(all, [&](std::size_t i, const InputElements&) {
        Case c = all[i];
        bool planted = false;
        if (in_program) c = plant(c, fault, op_table(), planted);
        c.program = bind_symbols(c.program);
        return std::make_unique<Eager>(c, in_program ? "" : fault);
      });
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::exit(2);
    }
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  target();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return target().mutate(data, size, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return target().run({data, size});
}
