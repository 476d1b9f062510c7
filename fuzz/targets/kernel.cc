#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "fuzz/targets/value_target.h"
#include "kernels/folder.h"
#include "kernels/library.h"

// Kernels that Inductor generated, in the folder that ULPFUZZ_KERNEL names (kernels/folder.h).
// Beside what fuzz/targets/value_target.h says, what the sanitizers see in the generated code is a
// finding.
namespace {

using namespace ulpfuzz;

// Made once, and never destroyed: libFuzzer ends without leaving main().
ValueTarget& target() {
  static ValueTarget& made = *[] {
    const std::string folder = required_variable(
        "ULPFUZZ_KERNEL", "must name a folder that 'ulpfuzz fuzz --kernels' made");
    try {
      static const KernelFolder& kernel = *new KernelFolder(read_kernel_folder(folder));
      return new ValueTarget(kernel.variants, [](std::size_t i, const InputElements& elements) {
        return std::make_unique<KernelLibrary>(kernel, i, elements);
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
  target();  // the library's coverage is known before the first execution
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return target().mutate(data, size, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return target().run({data, size});
}
