#include "fuzz/targets/value_target.h"

#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ir/element.h"
#include "ir/fill.h"
#include "kernels/layouts.h"
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

ValueTarget::ValueTarget(const Case& test, std::unique_ptr<InputElements> elements,
                         std::vector<std::unique_ptr<Subject>> subjects)
    : elements_(std::move(elements)),
      subjects_(std::move(subjects)),
      check_(test, op_table(), *elements_),
      feedback_(*elements_),
      mutator_(bind_symbols(test.program), op_table(), *elements_),
      passed_("," + variable("ULPFUZZ_PASS") + ","),
      drawn_(variable("ULPFUZZ_VALUES")),
      results_(check_.results().size()),
      whole_(elements_->bytes()) {
  // A division of integers that the processor refuses: eager mode raises there, or ends in the same
  // way. libFuzzer leaves a handler that is there alone.
  struct sigaction action {};
  action.sa_handler = on_refusal;
  action.sa_flags = SA_NODEFER;
  ::sigaction(SIGFPE, &action, nullptr);
}

int ValueTarget::run(std::span<const std::uint8_t> data) {
  if (!drawn_.empty() && data.size() < whole_.size()) {
    counters[0] = 1;  // libFuzzer's own first inputs: nothing drawn, but a corpus to begin with
    return 0;
  }
  const std::size_t picked = prefix() > 0 ? picked_layout(data, subjects_.size()) : 0;
  Subject& subject = *subjects_[picked];
  elements_->expand(data, whole_);
  if (!answers(subject, whole_)) return -1;
  check_.evaluate(whole_);
  distances_.clear();
  bool far = false;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    results_[i] = subject.result(i);
    far = check_.compare(i, results_[i], distances_) || far;
  }
  feedback_.operands(whole_, counters);
  feedback_.distances(distances_, picked, counters);
  if (!far) return 0;
  double share = 0;
  const std::vector<Fact> facts = check_.facts(whole_, results_, share);
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
  if (most < prefix() + whole_.size()) return size;
  // Half of the time the same values go to another subject, or stay with theirs.
  std::uint8_t first = size > 0 ? data[0] : 0;
  if (prefix() > 0 && seed % 8 > 5) first = static_cast<std::uint8_t>(seed >> 8);
  const std::size_t skipped = std::min(size, prefix());
  elements_->expand({data + skipped, size - skipped}, whole_);
  mutator_.mutate(whole_, seed);
  std::memcpy(data + prefix(), whole_.data(), whole_.size());
  if (prefix() > 0) data[0] = first;
  return prefix() + whole_.size();
}

std::size_t ValueTarget::draw(std::uint8_t* data, std::size_t most, unsigned seed) {
  if (most < prefix() + whole_.size()) return 0;
  Random random(seed);
  Fill fill;
  fill.seed = random.bits();
  for (const InputElements::Input& input : elements_->inputs()) {
    std::byte* at = whole_.data() + input.begin;
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
  if (prefix() > 0) data[0] = static_cast<std::uint8_t>(random.bits());
  std::memcpy(data + prefix(), whole_.data(), whole_.size());
  return prefix() + whole_.size();
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
