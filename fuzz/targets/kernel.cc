#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/element.h"
#include "ir/fill.h"
#include "kernels/check.h"
#include "kernels/elements.h"
#include "kernels/feedback.h"
#include "kernels/folder.h"
#include "kernels/library.h"
#include "kernels/mutate.h"
#include "ops/table.h"

// Kernels that Inductor generated, on the values that the bytes are (kernels/elements.h), against
// exact arithmetic. The folder with the kernels (kernels/folder.h) is named by ULPFUZZ_KERNEL. A
// result beyond the bound on all legal executions aborts, with a line that says which; so does what
// the sanitizers see in the generated code. A division of integers that the processor refuses is
// passed over: eager mode raises there, or ends in the same way.
//
// ULPFUZZ_PASS=wrong,nan-mismatch names kinds that a campaign has seen in this program: an input
// that shows one of them is passed over, so that one fault does not hide the next.
//
// With ULPFUZZ_VALUES=normal or bits every execution draws all its values afresh, from a bell curve
// or as uniform bits, whatever libFuzzer has learned: what feedback is worth is measured against
// that.
namespace {

using namespace ulpfuzz;

// libFuzzer reads them after each execution, and clears them.
__attribute__((section("__libfuzzer_extra_counters"))) std::uint8_t counters[Feedback::kSize];

sigjmp_buf refused;

void on_refusal(int /*signal*/) { siglongjmp(refused, 1); }

bool passed_over(std::string_view kind) {
  static const std::string kinds = [] {
    const char* named = std::getenv("ULPFUZZ_PASS");
    return "," + std::string(named == nullptr ? "" : named) + ",";
  }();
  return kinds.find("," + std::string(kind) + ",") != std::string::npos;
}

class Target {
 public:
  explicit Target(const KernelFolder& kernel)
      : elements_(kernel.test),
        library_(kernel.folder / "kernels.so", kernel.exported, kernel.test, elements_),
        check_(kernel.test, op_table(), elements_),
        feedback_(elements_),
        mutator_(bind_symbols(kernel.test.program), op_table(), elements_),
        outputs_(kernel.exported.outputs.size()),
        whole_(elements_.bytes()) {}

  // 0, or -1 where the input asks nothing.
  int run(const std::uint8_t* data, std::size_t size) {
    elements_.expand({data, size}, whole_);
    if (sigsetjmp(refused, 0) != 0) return -1;
    library_.run(whole_);
    check_.evaluate(whole_);
    distances_.clear();
    bool far = false;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i] = library_.output(i);
      far = check_.compare(i, outputs_[i], distances_) || far;
    }
    feedback_.operands(whole_, counters);
    feedback_.distances(distances_, counters);
    if (!far) return 0;
    double share = 0;
    const std::vector<Fact> facts = check_.facts(whole_, outputs_, share);
    Feedback::bound(share, counters);
    if (facts.empty()) return 0;
    if (std::ranges::any_of(facts, [](const Fact& f) { return passed_over(name(f.kind)); }))
      return 0;
    for (const Fact& fact : facts) {
      std::fprintf(stderr, "ulpfuzz: %s: %s\n", std::string(name(fact.kind)).c_str(),
                   fact.detail.c_str());
    }
    std::abort();
  }

  std::size_t draw(std::uint8_t* data, std::size_t most, unsigned seed) {
    if (most < whole_.size()) return 0;
    Random random(seed);
    Fill fill;
    fill.seed = random.bits();
    const bool bits = std::getenv("ULPFUZZ_VALUES") == std::string("bits");
    for (const InputElements::Input& input : elements_.inputs()) {
      std::byte* at = whole_.data() + input.begin;
      const bool plain = bits || is_integral(input.dtype);
      const Elements drawn =
          plain ? Elements{} : generate(fill, input.dtype, {input.count}, random.bits());
      for (std::int64_t i = 0; i < input.count; ++i, at += input.width) {
        const std::uint64_t word = random.bits();
        if (plain) {
          std::memcpy(at, &word, input.width);
        } else {
          store_real(input.dtype, drawn.reals[static_cast<std::size_t>(i)], at);
        }
      }
    }
    std::memcpy(data, whole_.data(), whole_.size());
    return whole_.size();
  }

  std::size_t bytes() const { return whole_.size(); }

  std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    if (most < whole_.size()) return size;
    elements_.expand({data, size}, whole_);
    mutator_.mutate(whole_, seed);
    std::memcpy(data, whole_.data(), whole_.size());
    return whole_.size();
  }

 private:
  InputElements elements_;
  KernelLibrary library_;
  KernelCheck check_;
  Feedback feedback_;
  ElementMutator mutator_;
  std::vector<std::span<const std::byte>> outputs_;
  std::vector<std::byte> whole_;
  std::vector<KernelCheck::Distance> distances_;
};

// Made once, and never destroyed: libFuzzer ends without leaving main().
Target& target() {
  static Target& made = *[] {
    const char* folder = std::getenv("ULPFUZZ_KERNEL");
    if (folder == nullptr) {
      std::fprintf(stderr,
                   "ULPFUZZ_KERNEL must name a folder that 'ulpfuzz fuzz --kernels' made\n");
      std::exit(2);
    }
    try {
      return new Target(read_kernel_folder(folder));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::exit(2);
    }
  }();
  return made;
}

// Of a comparison; "" in fuzzing.
const std::string& drawn_values() {
  static const std::string values = [] {
    const char* named = std::getenv("ULPFUZZ_VALUES");
    return std::string(named == nullptr ? "" : named);
  }();
  return values;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most)
    __attribute__((weak));

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  target();  // the library's coverage is known before the first execution
  struct sigaction action {};
  action.sa_handler = on_refusal;
  action.sa_flags = SA_NODEFER;
  ::sigaction(SIGFPE, &action, nullptr);  // libFuzzer leaves a handler that is there alone
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (!drawn_values().empty()) return target().draw(data, most, seed);
  if (seed % 4 == 0 && LLVMFuzzerMutate != nullptr) return LLVMFuzzerMutate(data, size, most);
  return target().mutate(data, size, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!drawn_values().empty() && size < target().bytes()) {
    counters[0] = 1;  // libFuzzer's own first inputs: nothing drawn, but a corpus to begin with
    return 0;
  }
  return target().run(data, size);
}
