#include "fuzz/targets/value_target.h"

#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ir/element.h"
#include "ir/fill.h"
#include "kernels/variants.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

// libFuzzer reads them after each execution, and clears them.
__attribute__((section("__libfuzzer_extra_counters"))) std::uint8_t counters[Feedback::kSize];

sigjmp_buf refused;

void on_refusal(int /*signal*/) { siglongjmp(refused, 1); }

bool answers(Subject& subject, std::span<const std::byte> whole) {
  return sigsetjmp(refused, 0) == 0 && subject.run(whole);
}

std::string variable(const char* name) {
  const char* named = std::getenv(name);
  return named == nullptr ? "" : named;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most)
    __attribute__((weak));

ValueTarget::Variant::Variant(const Case& test, std::size_t index, const MakeSubject& make)
    : elements(test),
      subject(make(index, elements)),
      check(test, op_table(), elements),
      feedback(elements),
      mutator(bind_symbols(test.program), op_table(), elements),
      whole(elements.bytes()) {}

ValueTarget::ValueTarget(const std::vector<Case>& variants, const MakeSubject& make)
    : passed_("," + variable("ULPFUZZ_PASS") + ","), drawn_(variable("ULPFUZZ_VALUES")) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    variants_.push_back(std::make_unique<Variant>(variants[i], i, make));
  }
  // A division of integers that the processor refuses: eager mode raises there, or ends in the same
  // way. libFuzzer leaves a handler that is there alone.
  struct sigaction action {};
  action.sa_handler = on_refusal;
  action.sa_flags = SA_NODEFER;
  ::sigaction(SIGFPE, &action, nullptr);
}

int ValueTarget::run(std::span<const std::uint8_t> data) {
  const std::size_t picked = picked_variant(data, variants_.size());
  Variant& v = *variants_[picked];
  if (!drawn_.empty() && data.size() < v.whole.size()) {
    counters[0] = 1;  // libFuzzer's own first inputs: nothing drawn, but a corpus to begin with
    return 0;
  }
  v.elements.expand(data, v.whole);
  if (!answers(*v.subject, v.whole)) return -1;
  v.check.evaluate(v.whole);
  distances_.clear();
  results_.resize(v.check.results().size());
  bool far = false;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    results_[i] = v.subject->result(i);
    far = v.check.compare(i, results_[i], distances_) || far;
  }
  v.feedback.operands(v.whole, counters);
  v.feedback.distances(distances_, picked, counters);
  if (!far) return 0;
  double share = 0;
  const std::vector<Fact> facts = v.check.facts(v.whole, results_, share);
  Feedback::bound(share, counters);
  if (facts.empty() || passed_over(facts)) return 0;
  for (const Fact& fact : facts) {
    std::fprintf(stderr, "ulpfuzz: %s: %s\n", std::string(name(fact.kind)).c_str(),
                 fact.detail.c_str());
  }
  std::abort();
}

bool ValueTarget::passed_over(const std::vector<Fact>& facts) const {
  return std::ranges::any_of(facts, [&](const Fact& fact) {
    return passed_.find("," + std::string(name(fact.kind)) + ",") != std::string::npos;
  });
}

std::size_t ValueTarget::mutate(std::uint8_t* data, std::size_t size, std::size_t most,
                                unsigned seed) {
  if (!drawn_.empty()) return draw(data, most, seed);
  if (seed % 4 == 0 && LLVMFuzzerMutate != nullptr) return LLVMFuzzerMutate(data, size, most);
  std::uint8_t first = size > 0 ? data[0] : 0;
  if (seed % 4 == 1) first = static_cast<std::uint8_t>(seed >> 8);  // to another variant
  Variant& v = *variants_[prefix() > 0 ? first % variants_.size() : 0];
  if (most < prefix() + v.whole.size()) return size;
  const std::size_t skipped = std::min(size, prefix());
  v.elements.expand({data + skipped, size - skipped}, v.whole);
  v.mutator.mutate(v.whole, seed);
  return put(v, first, data);
}

std::size_t ValueTarget::draw(std::uint8_t* data, std::size_t most, unsigned seed) {
  Random random(seed);
  const auto first = static_cast<std::uint8_t>(prefix() > 0 ? random.bits() : 0);
  Variant& v = *variants_[first % variants_.size()];
  if (most < prefix() + v.whole.size()) return 0;
  Fill fill;
  fill.seed = random.bits();
  for (const InputElements::Input& input : v.elements.inputs()) {
    std::byte* at = v.whole.data() + input.begin;
    const bool plain = drawn_ == "bits" || is_integral(input.dtype);
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
  return put(v, first, data);
}

std::size_t ValueTarget::put(const Variant& v, std::uint8_t first, std::uint8_t* data) const {
  if (prefix() > 0) data[0] = first;
  std::memcpy(data + prefix(), v.whole.data(), v.whole.size());
  return prefix() + v.whole.size();
}

std::string required_variable(const char* name, const char* why) {
  const std::string value = variable(name);
  if (value.empty()) {
    std::fprintf(stderr, "%s %s\n", name, why);
    std::exit(2);
  }
  return value;
}

}  // namespace ulpfuzz
